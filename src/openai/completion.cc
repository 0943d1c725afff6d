#include "openai/completion.h"

#include <boost/json/serialize.hpp>
#include <utility>

#include "base/check.h"

namespace exa::openai {

namespace {

constexpr std::string_view event_open = "data: ";
constexpr std::string_view event_end = "\n\n";

// A JSON string with its quotes. `text` is valid UTF-8.
std::string quoted(std::string_view text) {
    return boost::json::serialize(boost::json::string_view(text.data(), text.size()));
}

std::string_view to_string(Finish reason) {
    return reason == Finish::stop ? "stop" : "length";
}

// {"id":...,"object":...,"created":...,"model":...,"choices":[
std::string open_object(const AnswerHead& head, std::string_view object) {
    std::string out = "{\"id\":" + quoted(head.id) + ",\"object\":" + quoted(object) +
                      ",\"created\":" + std::to_string(head.created) + ",\"model\":" + quoted(head.model);
    if (!head.fingerprint.empty()) out += ",\"system_fingerprint\":" + quoted(head.fingerprint);
    return out + ",\"choices\":[";
}

std::string usage_json(std::uint32_t completion_tokens, const PromptUsage& usage) {
    return "{\"prompt_tokens\":" + std::to_string(usage.prompt_tokens) +
           ",\"completion_tokens\":" + std::to_string(completion_tokens) +
           ",\"total_tokens\":" + std::to_string(std::uint64_t{usage.prompt_tokens} + completion_tokens) +
           ",\"prompt_tokens_details\":{\"cached_tokens\":" + std::to_string(usage.cached_tokens) + "}}";
}

std::string_view chunk_object(Shape shape) {
    return shape == Shape::chat ? "chat.completion.chunk" : "text_completion";
}

}  // namespace

CompletionStream::CompletionStream(AnswerHead head, std::vector<std::string> stops)
    : head_(std::move(head)),
      chunk_open_(std::string(event_open) + open_object(head_, chunk_object(head_.shape))),
      text_(std::move(stops)) {}

void CompletionStream::replay(std::uint32_t offset, std::string_view bytes) {
    EXA_CHECK(offset == next_offset_);
    ++next_offset_;
    std::string text = text_.push(bytes);
    if (!head_.stream) whole_ += text;
}

std::string CompletionStream::token(std::uint32_t offset, std::string_view bytes, bool is_stop_token) {
    EXA_CHECK(offset == next_offset_);
    const bool first = next_offset_++ == 0;
    const std::string text = is_stop_token ? std::string() : text_.push(bytes);
    if (head_.stream) return text_chunk(text, first);
    whole_ += text;
    return {};
}

std::string CompletionStream::finish(Finish reason, const PromptUsage& usage) {
    EXA_CHECK(head_.stream);
    std::string out = text_chunk(text_.finish(), next_offset_ == 0);
    const std::string_view why = to_string(text_.stopped() ? Finish::stop : reason);
    out += chunk_open_;
    out += head_.shape == Shape::chat ? "{\"index\":0,\"delta\":{}" : "{\"index\":0,\"text\":\"\"";
    out += ",\"logprobs\":null,\"finish_reason\":" + quoted(why) + "}]";
    if (head_.include_usage) out += ",\"usage\":null";
    out += "}";
    out += event_end;
    if (head_.include_usage) {
        out += chunk_open_ + "],\"usage\":" + usage_json(next_offset_, usage) + "}";
        out += event_end;
    }
    return out + "data: [DONE]\n\n";
}

std::string CompletionStream::body(Finish reason, const PromptUsage& usage) {
    EXA_CHECK(!head_.stream);
    whole_ += text_.finish();
    std::string out =
        open_object(head_, head_.shape == Shape::chat ? "chat.completion" : std::string_view("text_completion"));
    if (head_.shape == Shape::chat)
        out += "{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":" + quoted(whole_) + ",\"refusal\":null}";
    else
        out += "{\"index\":0,\"text\":" + quoted(whole_);
    out += ",\"logprobs\":null,\"finish_reason\":" + quoted(to_string(text_.stopped() ? Finish::stop : reason));
    return out + "}],\"usage\":" + usage_json(next_offset_, usage) + "}";
}

// Nothing when there is neither text nor a role to tell.
std::string CompletionStream::text_chunk(std::string_view text, bool first) const {
    const bool chat = head_.shape == Shape::chat;
    if (text.empty() && !(chat && first)) return {};
    std::string out = chunk_open_;
    out += "{\"index\":0,";
    if (chat) {
        out += first ? "\"delta\":{\"role\":\"assistant\",\"content\":" : "\"delta\":{\"content\":";
        out += quoted(text) + "}";
    } else {
        out += "\"text\":" + quoted(text);
    }
    out += ",\"logprobs\":null,\"finish_reason\":null}]";
    if (head_.include_usage) out += ",\"usage\":null";
    out += "}";
    out += event_end;
    return out;
}

std::string error_event(const ApiError& error) {
    return std::string(event_open) + error.body() + std::string(event_end);
}

std::string answer_id(Shape shape, std::uint64_t random_high, std::uint64_t random_low) {
    std::string id = shape == Shape::chat ? "chatcmpl-" : "cmpl-";
    for (const std::uint64_t part : {random_high, random_low}) {
        for (int shift = 60; shift >= 0; shift -= 4) id += "0123456789abcdef"[(part >> shift) & 15];
    }
    return id;
}

}  // namespace exa::openai
