#include "loadgen/answer_reader.h"

#include <algorithm>
#include <array>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parse.hpp>

#include "openai/utf8.h"

namespace exa::loadgen {

namespace {

namespace json = boost::json;

// Most events fit, so that reading them allocates nothing.
constexpr std::size_t arena_bytes = 4096;

const json::object* object_in(const json::object& parent, std::string_view key) {
    const auto* found = parent.if_contains(key);
    return found == nullptr ? nullptr : found->if_object();
}

std::string_view text_in(const json::object& parent, std::string_view key) {
    const auto* found = parent.if_contains(key);
    const auto* text = found == nullptr ? nullptr : found->if_string();
    return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

std::uint64_t count_in(const json::object& parent, std::string_view key) {
    const auto* found = parent.if_contains(key);
    const auto* number = found == nullptr ? nullptr : found->if_int64();
    return number == nullptr || *number < 0 ? 0 : static_cast<std::uint64_t>(*number);
}

const json::object* first_choice(const json::object& answer) {
    const auto* found = answer.if_contains("choices");
    const auto* choices = found == nullptr ? nullptr : found->if_array();
    return choices == nullptr || choices->empty() ? nullptr : choices->front().if_object();
}

std::string cleaned(std::string_view text) {
    const std::string valid = openai::valid_utf8(text.substr(0, AnswerReader::message_bytes_max + 4));
    std::string out(openai::cut_utf8(valid, AnswerReader::message_bytes_max));
    for (char& c : out)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
    return out;
}

// What servers send in "error": an object with a message, or a text.
std::string_view message_of(const json::value& error) {
    if (const auto* text = error.if_string()) return {text->data(), text->size()};
    const auto* object = error.if_object();
    return object == nullptr ? std::string_view() : text_in(*object, "message");
}

}  // namespace

std::string error_text(std::string_view body) {
    json::error_code code;
    const json::value value = json::parse(body.substr(0, AnswerReader::line_bytes_max), code);
    const auto* object = code ? nullptr : value.if_object();
    const auto* error = object == nullptr ? nullptr : object->if_contains("error");
    const std::string_view message = error == nullptr ? std::string_view() : message_of(*error);
    return cleaned(message.empty() ? body : message);
}

std::uint32_t AnswerReader::feed(std::string_view piece) {
    if (failure_ != Failure::none || done_) return 0;
    if (!stream_) {
        if (pending_.size() + piece.size() > body_bytes_max)
            fail(Failure::bad_answer, "the answer is longer than 16 MiB");
        else
            pending_ += piece;
        return 0;
    }
    const std::uint64_t before = events_;
    while (!piece.empty() && failure_ == Failure::none && !done_) {
        const auto end = piece.find('\n');
        const std::string_view part = piece.substr(0, end);
        if (pending_.size() + part.size() > line_bytes_max) {
            fail(Failure::bad_answer, "an event is longer than 1 MiB");
            break;
        }
        if (end == std::string_view::npos) {
            pending_ += part;
            break;
        }
        if (pending_.empty()) {
            read_line(part);
        } else {
            pending_ += part;
            read_line(pending_);
            pending_.clear();
        }
        piece.remove_prefix(end + 1);
    }
    return static_cast<std::uint32_t>(events_ - before);
}

// Servers of this API send each event as one line of data; other fields and comments carry nothing.
void AnswerReader::read_line(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    constexpr std::string_view field = "data:";
    if (!line.starts_with(field)) return;
    line.remove_prefix(field.size());
    if (line.starts_with(' ')) line.remove_prefix(1);
    read_event(line);
}

void AnswerReader::read_event(std::string_view data) {
    if (data == "[DONE]") {
        done_ = true;
        return;
    }
    events_ += read_json(data) ? 1 : 0;
}

bool AnswerReader::read_json(std::string_view text) {
    std::array<unsigned char, arena_bytes> arena;
    json::monotonic_resource memory(arena.data(), arena.size());
    json::error_code code;
    const json::value value = json::parse(text, code, &memory);
    const auto* object = code ? nullptr : value.if_object();
    if (object == nullptr) {
        fail(Failure::bad_answer, "not a JSON object: " + std::string(text.substr(0, message_bytes_max)));
        return false;
    }
    if (const auto* error = object->if_contains("error"); error != nullptr && !error->is_null()) {
        const std::string_view message = message_of(*error);
        fail(stream_ ? Failure::error_event : Failure::bad_answer, message.empty() ? text : message);
        return false;
    }
    if (const auto* usage = object_in(*object, "usage")) {
        prompt_tokens_ = count_in(*usage, "prompt_tokens");
        output_tokens_ = count_in(*usage, "completion_tokens");
    }
    const auto* choice = first_choice(*object);
    if (choice == nullptr) {
        // A last event may hold the usage alone.
        if (!stream_) fail(Failure::bad_answer, "no choices: " + std::string(text.substr(0, message_bytes_max)));
        return false;
    }
    const auto* message = object_in(*choice, stream_ ? "delta" : "message");
    const json::object& source = message == nullptr ? *choice : *message;
    const std::string_view content = text_in(source, message == nullptr ? "text" : "content");
    if (keeps_text_) text_ += content;
    if (!content.empty() || message == nullptr) return !content.empty();
    if (!text_in(source, "reasoning_content").empty() || !text_in(source, "reasoning").empty()) return true;
    const auto* calls = source.if_contains("tool_calls");
    return calls != nullptr && calls->is_array() && !calls->get_array().empty();
}

void AnswerReader::finish() {
    if (failure_ != Failure::none) return;
    if (!stream_) {
        read_json(pending_);
        if (failure_ == Failure::none) events_ = 1;
        return;
    }
    if (!done_) fail(Failure::truncated, "the stream ended without [DONE]");
}

void AnswerReader::fail(Failure failure, std::string_view message) {
    failure_ = failure;
    message_ = cleaned(message);
}

}  // namespace exa::loadgen
