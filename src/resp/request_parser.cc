#include "resp/request_parser.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "resp/command_table.h"
#include "resp/inline_words.h"

namespace exa::resp {

namespace {

constexpr std::size_t read_bytes = 64 << 10;
// "*" or "$" and a number.
constexpr std::size_t number_line_max = 32;
// Of an argument that is read before all of it has come.
constexpr std::uint64_t reserved_max = 1 << 20;
// Of each request, outside of the budget.
constexpr std::uint64_t memory_free = 64 << 10;
constexpr std::int64_t count_max = 0x7fffffff;
// Before authentication.
constexpr std::int64_t restricted_arguments_max = 10;
constexpr std::uint64_t restricted_bytes_max = 16384;

}  // namespace

RequestParser::RequestParser(const ParserLimits& limits, MakeBody make_body, ArgumentBudget& budget)
    : limits_(limits), make_body_(std::move(make_body)), budget_(budget), read_(read_bytes) {
    EXA_CHECK(limits.large_min + 2 <= read_bytes);
}

RequestParser::~RequestParser() {
    give_back();
}

std::optional<Request> RequestParser::next() {
    if (at_ == At::done) {
        give_back();
        at_ = At::start;
    }
    while (step()) {
        if (at_ == At::done) return std::exchange(request_, {});
    }
    return std::nullopt;
}

std::array<std::span<std::uint8_t>, 2> RequestParser::buffers() {
    EXA_CHECK(!broken());
    if (begin_ == end_) {
        begin_ = end_ = 0;
    } else if (read_.size() - end_ < read_.size() / 2) {
        std::copy(read_.begin() + static_cast<std::ptrdiff_t>(begin_),
                  read_.begin() + static_cast<std::ptrdiff_t>(end_), read_.begin());
        end_ -= begin_;
        begin_ = 0;
    }
    std::array<std::span<std::uint8_t>, 2> buffers = {std::span<std::uint8_t>(), std::span(read_).subspan(end_)};
    if (at_ == At::large && !request_.refused && begin_ == end_)
        buffers[0] = request_.bodies.back().bytes.subspan(piece_used_);
    return buffers;
}

void RequestParser::commit(std::size_t bytes) {
    if (at_ == At::large && !request_.refused && begin_ == end_) {
        const std::size_t direct = std::min(bytes, request_.bodies.back().bytes.size() - piece_used_);
        piece_used_ += direct;
        bytes_left_ -= direct;
        bytes -= direct;
    }
    EXA_CHECK(bytes <= read_.size() - end_);
    end_ += bytes;
}

bool RequestParser::step() {
    if (broken()) return false;
    switch (at_) {
        case At::start:
            return start_request();
        case At::argument:
            return start_argument();
        case At::small:
            return read_small();
        case At::large:
            return read_large();
        case At::skipped:
            return skip();
        case At::end_of_argument:
            return end_argument();
        case At::done:
            return false;
    }
    return false;
}

bool RequestParser::start_request() {
    if (available() == 0) return false;
    if (read_[begin_] != '*') {
        const auto text = line(limits_.large_min, "too big inline request");
        if (!text) return false;
        auto words = split_inline(*text);
        if (!words) return fail("unbalanced quotes in request");
        request_.arguments = std::move(*words);
        if (!request_.arguments.empty()) at_ = At::done;
        return true;
    }
    const auto text = line(number_line_max, "too big mbulk count string");
    if (!text) return false;
    const auto count = number(text->substr(1), count_max, "invalid multibulk length");
    if (!count) return false;
    if (restricted_ && *count > restricted_arguments_max) return fail("unauthenticated multibulk length");
    // An empty array, and the negative ones of old clients, ask nothing.
    if (*count <= 0) return true;
    arguments_left_ = static_cast<std::uint64_t>(*count);
    at_ = At::argument;
    return true;
}

bool RequestParser::start_argument() {
    const auto text = line(number_line_max, "too big bulk count string");
    if (!text) return false;
    if (text->empty() || text->front() != '$')
        return fail(text->empty() ? "expected '$', got ' '"
                                  : "expected '$', got '" + std::string(text->substr(0, 1)) + "'");
    const auto size = number(text->substr(1), static_cast<std::int64_t>(limits_.argument_max), "invalid bulk length");
    if (!size) return false;
    if (*size < 0) return fail("invalid bulk length");
    bytes_left_ = static_cast<std::uint64_t>(*size);
    if (restricted_ && bytes_left_ > restricted_bytes_max) return fail("unauthenticated bulk length");
    if (request_.over_limit.empty() && request_.arguments.size() >= limits_.arguments_max)
        go_over("more than " + std::to_string(limits_.arguments_max) + " arguments in one command");
    const bool is_large = request_.over_limit.empty() && bytes_left_ >= limits_.large_min && is_kept_value();
    if (is_large) {
        request_.arguments.emplace_back();
        request_.body_bytes = bytes_left_;
        piece_used_ = 0;
        at_ = At::large;
        return true;
    }
    if (!request_.over_limit.empty() || !take_memory(bytes_left_)) {
        at_ = At::skipped;
        return true;
    }
    request_.arguments.emplace_back().reserve(static_cast<std::size_t>(std::min(bytes_left_, reserved_max)));
    at_ = At::small;
    return true;
}

bool RequestParser::is_kept_value() const {
    if (request_.arguments.empty()) return false;
    const Command* command = find_command(request_.arguments[0]);
    return command != nullptr && command->value_at == request_.arguments.size();
}

bool RequestParser::take_memory(std::uint64_t bytes) {
    argument_bytes_ += bytes;
    if (argument_bytes_ > limits_.bytes_max) {
        go_over("more than " + std::to_string(limits_.bytes_max) + " bytes of arguments in one command");
        return false;
    }
    memory_ += bytes + sizeof(std::string);
    const std::uint64_t wanted = memory_ - std::min(memory_, memory_free);
    if (wanted - from_budget_ > budget_.bytes_left) {
        go_over("too many bytes of arguments held for all clients, try again");
        return false;
    }
    budget_.bytes_left -= wanted - from_budget_;
    from_budget_ = wanted;
    return true;
}

void RequestParser::give_back() {
    budget_.bytes_left += std::exchange(from_budget_, 0);
    memory_ = 0;
    argument_bytes_ = 0;
}

void RequestParser::go_over(std::string why) {
    if (request_.arguments.size() > 1) request_.arguments.resize(1);
    request_.arguments.shrink_to_fit();
    request_.bodies.clear();
    request_.over_limit = std::move(why);
    give_back();
}

bool RequestParser::read_small() {
    const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(available(), bytes_left_));
    request_.arguments.back().append(reinterpret_cast<const char*>(read_.data()) + begin_, taken);
    begin_ += taken;
    bytes_left_ -= taken;
    if (bytes_left_ > 0) return false;
    at_ = At::end_of_argument;
    return true;
}

bool RequestParser::skip() {
    const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(available(), bytes_left_));
    begin_ += taken;
    bytes_left_ -= taken;
    if (bytes_left_ > 0) return false;
    at_ = At::end_of_argument;
    return true;
}

bool RequestParser::read_large() {
    while (bytes_left_ > 0) {
        if (!request_.refused && (request_.bodies.empty() || piece_used_ == request_.bodies.back().bytes.size())) {
            auto piece = make_body_(request_, bytes_left_);
            if (piece) {
                EXA_CHECK(!piece->bytes.empty() && piece->bytes.size() <= bytes_left_);
                request_.bodies.push_back(std::move(*piece));
                piece_used_ = 0;
            } else {
                request_.refused = true;
                request_.bodies.clear();
            }
        }
        std::size_t taken = static_cast<std::size_t>(std::min<std::uint64_t>(available(), bytes_left_));
        if (!request_.refused) {
            const std::span<std::uint8_t> piece = request_.bodies.back().bytes.subspan(piece_used_);
            taken = std::min(taken, piece.size());
            std::copy_n(read_.begin() + static_cast<std::ptrdiff_t>(begin_), taken, piece.begin());
            piece_used_ += taken;
        }
        if (taken == 0) return false;
        begin_ += taken;
        bytes_left_ -= taken;
    }
    at_ = At::end_of_argument;
    return true;
}

bool RequestParser::end_argument() {
    if (available() < 2) return false;
    if (read_[begin_] != '\r' || read_[begin_ + 1] != '\n') return fail("an argument is longer than it says");
    begin_ += 2;
    --arguments_left_;
    at_ = arguments_left_ == 0 ? At::done : At::argument;
    return true;
}

// Without its end. A bare "\n" ends an inline command, as people at a terminal send it.
std::optional<std::string_view> RequestParser::line(std::size_t max, const char* too_long) {
    const std::string_view all(reinterpret_cast<const char*>(read_.data()) + begin_, available());
    const std::size_t end = all.substr(0, max).find('\n');
    if (end == std::string_view::npos) {
        if (all.size() >= max) fail(too_long);
        return std::nullopt;
    }
    begin_ += end + 1;
    std::string_view text = all.substr(0, end);
    if (text.ends_with('\r')) text.remove_suffix(1);
    return text;
}

std::optional<std::int64_t> RequestParser::number(std::string_view text, std::int64_t max, const char* what) {
    std::int64_t value = 0;
    const auto [end, errc] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (errc != std::errc{} || end != text.data() + text.size() || value > max) {
        fail(what);
        return std::nullopt;
    }
    return value;
}

bool RequestParser::fail(std::string what) {
    error_ = std::move(what);
    request_ = {};
    return false;
}

}  // namespace exa::resp
