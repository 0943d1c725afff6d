#include "openai/responses_stream.h"

#include <utility>

#include "base/check.h"
#include "openai/utf8.h"
#include "openai/write_json.h"

namespace exa::openai {

namespace {

constexpr std::string_view place = ",\"output_index\":0,\"content_index\":0";
constexpr std::uint64_t prelude_events = 4;

std::string quoted_or_null(const std::optional<std::string>& text) {
    return text ? quoted(*text) : "null";
}

std::string number(double value) {
    std::string out;
    append_number(out, value);
    return out;
}

std::string usage_json(std::uint32_t output_tokens, const PromptUsage& usage) {
    return "{\"input_tokens\":" + std::to_string(usage.prompt_tokens) +
           ",\"input_tokens_details\":{\"cached_tokens\":" + std::to_string(usage.cached_tokens) +
           ",\"cache_write_tokens\":0},\"output_tokens\":" + std::to_string(output_tokens) +
           ",\"output_tokens_details\":{\"reasoning_tokens\":0},\"total_tokens\":" +
           std::to_string(std::uint64_t{usage.prompt_tokens} + output_tokens) + "}";
}

std::string event_text(std::string_view type, std::uint64_t sequence, std::string_view members) {
    std::string out = "event: ";
    out += type;
    out += "\ndata: {\"type\":\"";
    out += type;
    out += "\",\"sequence_number\":" + std::to_string(sequence);
    out += members;
    out += "}\n\n";
    return out;
}

}  // namespace

ResponsesStream::ResponsesStream(ResponseHead head) : head_(std::move(head)) {
    // The item's id is the response's under another name: whoever resumes gives the same.
    const std::size_t name = head_.id.find('_');
    item_id_ = "msg_" + head_.id.substr(name == std::string::npos ? 0 : name + 1);
}

void ResponsesStream::replay(std::uint32_t offset, std::string_view bytes) {
    EXA_CHECK(offset == next_offset_);
    if (next_offset_++ == 0) next_sequence_ = prelude_events;
    const std::string text = text_.push(bytes);
    if (!text.empty() || head_.logprobs) ++next_sequence_;
    whole_ += text;
}

std::string ResponsesStream::token(std::uint32_t offset, std::string_view bytes, bool is_stop_token,
                                   const TokenLogprobs* logprobs) {
    EXA_CHECK(offset == next_offset_);
    std::string out = next_offset_++ == 0 && head_.stream ? prelude() : std::string();
    if (is_stop_token) return out;
    std::string entry;
    if (head_.logprobs && logprobs != nullptr) append_logprob(entry, bytes, *logprobs);
    const std::string text = text_.push(bytes);
    whole_ += text;
    if (!head_.stream) {
        if (!entry.empty()) whole_logprobs_ += (whole_logprobs_.empty() ? "" : ",") + entry;
        return {};
    }
    // With logprobs every token has its event, so that a replay can count them.
    if (!text.empty() || head_.logprobs) out += delta(text, entry);
    return out;
}

std::string ResponsesStream::end(Finish reason, const PromptUsage& usage) {
    const std::string_view status = reason == Finish::stop ? "completed" : "incomplete";
    const std::string text = text_.finish();
    whole_ += text;
    const std::string content = part(whole_, whole_logprobs_);
    const std::string message = item(status, content);
    std::string whole = response(status, message, usage_json(next_offset_, usage));
    if (!head_.stream) return whole;
    std::string out = next_offset_ == 0 ? prelude() : std::string();
    if (!text.empty()) out += delta(text, {});
    const std::string item_id = ",\"item_id\":" + quoted(item_id_);
    out += event("response.output_text.done",
                 item_id + std::string(place) + ",\"text\":" + quoted(whole_) + ",\"logprobs\":[]");
    out += event("response.content_part.done", item_id + std::string(place) + ",\"part\":" + content);
    out += event("response.output_item.done", ",\"output_index\":0,\"item\":" + message);
    return out + event("response." + std::string(status), ",\"response\":" + whole);
}

std::string ResponsesStream::event(std::string_view type, std::string_view members) {
    return event_text(type, next_sequence_++, members);
}

std::string ResponsesStream::prelude() {
    const std::string begun = ",\"response\":" + response("in_progress", {}, "null");
    std::string out = event("response.created", begun);
    out += event("response.in_progress", begun);
    out += event("response.output_item.added", ",\"output_index\":0,\"item\":" + item("in_progress", {}));
    out += event("response.content_part.added",
                 ",\"item_id\":" + quoted(item_id_) + std::string(place) + ",\"part\":" + part({}, {}));
    EXA_CHECK(next_sequence_ == prelude_events);
    return out;
}

std::string ResponsesStream::delta(std::string_view text, std::string_view logprobs) {
    std::string members = ",\"item_id\":" + quoted(item_id_) + std::string(place) + ",\"delta\":";
    append_quoted(members, text);
    members += ",\"logprobs\":[";
    members += logprobs;
    members += ']';
    return event("response.output_text.delta", members);
}

std::string ResponsesStream::part(std::string_view text, std::string_view logprobs) const {
    std::string out = "{\"type\":\"output_text\",\"text\":";
    append_quoted(out, text);
    out += ",\"annotations\":[],\"logprobs\":[";
    out += logprobs;
    return out + "]}";
}

std::string ResponsesStream::item(std::string_view status, std::string_view content) const {
    return "{\"type\":\"message\",\"id\":" + quoted(item_id_) + ",\"status\":" + quoted(status) +
           ",\"role\":\"assistant\",\"content\":[" + std::string(content) + "]}";
}

std::string ResponsesStream::response(std::string_view status, std::string_view output, std::string_view usage) const {
    const ResponseSettings& settings = head_.settings;
    std::string out = "{\"id\":" + quoted(head_.id) +
                      ",\"object\":\"response\",\"created_at\":" + std::to_string(head_.created) +
                      ",\"status\":" + quoted(status);
    out += ",\"background\":false,\"error\":null,\"incomplete_details\":";
    out += status == "incomplete" ? "{\"reason\":\"max_output_tokens\"}" : "null";
    out += ",\"instructions\":" + quoted_or_null(settings.instructions);
    out += ",\"max_output_tokens\":";
    out += settings.max_output_tokens ? std::to_string(*settings.max_output_tokens) : "null";
    out += ",\"metadata\":" + settings.metadata + ",\"model\":" + quoted(head_.model) + ",\"output\":[";
    out += output;
    out += "],\"parallel_tool_calls\":true,\"previous_response_id\":null";
    out += ",\"prompt_cache_key\":" + quoted_or_null(settings.prompt_cache_key);
    out += ",\"reasoning\":{\"effort\":null,\"summary\":null},\"store\":false";
    out += ",\"temperature\":" + number(settings.temperature) + ",\"text\":{\"format\":{\"type\":\"text\"}}";
    out += ",\"tool_choice\":\"auto\",\"tools\":[],\"top_logprobs\":" + std::to_string(settings.top_logprobs);
    out += ",\"top_p\":" + number(settings.top_p) + ",\"truncation\":" + quoted(settings.truncation) + ",\"usage\":";
    out += usage;
    return out + ",\"user\":" + quoted_or_null(settings.user) + "}";
}

std::string response_error_event(const ApiError& error, std::uint64_t sequence_number) {
    const auto text_or_null = [](const std::optional<std::string>& text) {
        return text ? quoted(valid_utf8(*text)) : std::string("null");
    };
    // {"error":{...}} without its outer braces.
    const std::string body = error.body();
    return event_text("error", sequence_number,
                      ",\"code\":" + text_or_null(error.code) + ",\"message\":" + quoted(valid_utf8(error.message)) +
                          ",\"param\":" + text_or_null(error.param) + "," + body.substr(1, body.size() - 2));
}

}  // namespace exa::openai
