#include "resp/request_parser.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/check.h"

namespace exa::resp {

namespace {

constexpr std::size_t read_bytes = 64 << 10;
// "*" or "$" and a number.
constexpr std::size_t number_line_max = 32;

}  // namespace

RequestParser::RequestParser(const ParserLimits& limits, MakeBody make_body)
    : limits_(limits), make_body_(std::move(make_body)), read_(read_bytes) {
    EXA_CHECK(limits.large_min + 2 <= read_bytes);
}

std::optional<Request> RequestParser::next() {
    while (step()) {
        if (at_ != At::done) continue;
        at_ = At::start;
        small_bytes_ = 0;
        return std::exchange(request_, {});
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
        const auto text = line(limits_.large_min);
        if (!text) return false;
        split_inline(*text);
        if (!request_.arguments.empty()) at_ = At::done;
        return true;
    }
    const auto text = line(number_line_max);
    if (!text) return false;
    // An empty array, and the null of old clients, ask nothing.
    if (*text == "*0" || *text == "*-1") return true;
    const auto count = number(text->substr(1), limits_.arguments_max, "number of arguments");
    if (!count) return false;
    arguments_left_ = *count;
    at_ = arguments_left_ == 0 ? At::start : At::argument;
    return true;
}

bool RequestParser::start_argument() {
    const auto text = line(number_line_max);
    if (!text) return false;
    if (text->empty() || text->front() != '$') return fail("expected '$'");
    const auto size = number(text->substr(1), limits_.argument_max, "length of an argument");
    if (!size) return false;
    bytes_left_ = *size;
    at_ = At::small;
    if (*size < limits_.large_min) {
        small_bytes_ += *size;
        return small_bytes_ <= limits_.small_bytes_max || fail("too many bytes in one request");
    }
    if (!request_.bodies.empty() || request_.refused) return fail("more than one large argument");
    request_.arguments.emplace_back();
    request_.body_bytes = *size;
    piece_used_ = 0;
    at_ = At::large;
    return true;
}

bool RequestParser::read_small() {
    if (available() < bytes_left_) return false;
    request_.arguments.emplace_back(reinterpret_cast<const char*>(read_.data()) + begin_,
                                    static_cast<std::size_t>(bytes_left_));
    begin_ += static_cast<std::size_t>(bytes_left_);
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

void RequestParser::split_inline(std::string_view text) {
    while (!text.empty()) {
        const std::size_t start = text.find_first_not_of(" \t");
        if (start == std::string_view::npos) return;
        text.remove_prefix(start);
        const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
        request_.arguments.emplace_back(text.substr(0, end));
        text.remove_prefix(end);
    }
}

// Without its end. A bare "\n" ends an inline command, as people at a terminal send it.
std::optional<std::string_view> RequestParser::line(std::size_t max) {
    const std::string_view all(reinterpret_cast<const char*>(read_.data()) + begin_, available());
    const std::size_t end = all.substr(0, max).find('\n');
    if (end == std::string_view::npos) {
        if (all.size() >= max) fail("too long a line");
        return std::nullopt;
    }
    begin_ += end + 1;
    std::string_view text = all.substr(0, end);
    if (text.ends_with('\r')) text.remove_suffix(1);
    return text;
}

std::optional<std::uint64_t> RequestParser::number(std::string_view text, std::uint64_t max, const char* what) {
    std::uint64_t value = 0;
    const auto [end, errc] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (errc != std::errc{} || end != text.data() + text.size() || value > max) {
        fail(std::string("invalid ") + what);
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
