#include "openai/answer_stream.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "openai/write_json.h"

namespace exa::openai {

namespace {

constexpr std::string_view event_open = "data: ";
constexpr std::string_view event_end = "\n\n";
// What a chunk is made of beside its opening, text and logprobs; a little more than the longest.
constexpr std::size_t chunk_rest_bytes = 128;

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

std::string_view whole_object(Shape shape) {
    return shape == Shape::chat ? "chat.completion" : "text_completion";
}

std::size_t code_points_begun(std::string_view bytes) {
    return static_cast<std::size_t>(
        std::ranges::count_if(bytes, [](char byte) { return (static_cast<std::uint8_t>(byte) & 0xC0) != 0x80; }));
}

}  // namespace

AnswerStream::AnswerStream(AnswerHead head, const std::vector<std::string>& stops)
    : head_(std::move(head)), chunk_open_(std::string(event_open) + open_object(head_, chunk_object(head_.shape))) {
    EXA_CHECK(head_.choices > 0);
    EXA_CHECK(head_.echo.empty() || head_.echo.size() == head_.choices);
    choices_.resize(head_.choices);
    for (std::uint32_t i = 0; i < head_.choices; ++i) {
        choices_[i].text = AnswerText(stops);
        choices_[i].code_points = code_points_begun(echo(i));
        if (!head_.stream) choices_[i].whole = echo(i);
    }
}

bool AnswerStream::all_finished() const {
    return std::ranges::all_of(choices_, [](const Choice& choice) { return choice.finish.has_value(); });
}

std::uint32_t AnswerStream::completion_tokens() const {
    std::uint32_t tokens = 0;
    for (const Choice& choice : choices_) tokens += choice.next_offset;
    return tokens;
}

void AnswerStream::replay(std::uint32_t index, std::uint32_t offset, std::string_view bytes) {
    Choice& choice = choices_[index];
    EXA_CHECK(offset == choice.next_offset && !choice.finish);
    ++choice.next_offset;
    choice.code_points += code_points_begun(bytes);
    const std::string text = choice.text.push(bytes, offset >= head_.min_tokens);
    if (!head_.stream) choice.whole += text;
}

void AnswerStream::replay_finish(std::uint32_t index, Finish reason) {
    std::ignore = finish(index, reason);
}

void AnswerStream::echo_logprobs(std::uint32_t index, std::span<const EchoedToken> tokens) {
    Choice& choice = choices_[index];
    EXA_CHECK(choice.next_offset == 0 && head_.shape == Shape::completion);
    std::size_t offset = 0;
    for (const EchoedToken& token : tokens) {
        if (token.logprobs)
            choice.logprobs.add(token.bytes, *token.logprobs, offset);
        else
            choice.logprobs.add_first(token.bytes, offset);
        if (token.is_text) offset += code_points_begun(token.bytes);
    }
}

std::string AnswerStream::token(std::uint32_t index, std::uint32_t offset, std::string_view bytes, bool is_stop_token,
                                const TokenLogprobs* logprobs) {
    Choice& choice = choices_[index];
    EXA_CHECK(offset == choice.next_offset && !choice.finish);
    const bool first = choice.next_offset++ == 0;
    std::string text;
    std::string entry;
    if (!is_stop_token && !choice.text.stopped()) {
        if (head_.logprobs && logprobs != nullptr) entry = token_logprobs(choice, bytes, *logprobs);
        choice.code_points += code_points_begun(bytes);
        text = choice.text.push(bytes, offset >= head_.min_tokens);
    }
    if (head_.stream && !choice.logprobs.empty()) entry = std::exchange(choice.logprobs, {}).json();
    if (head_.stream) return chunk(index, text, first, entry);
    choice.whole += text;
    return {};
}

std::string AnswerStream::finish(std::uint32_t index, Finish reason) {
    Choice& choice = choices_[index];
    EXA_CHECK(!choice.finish);
    choice.finish = choice.text.stopped() ? Finish::stop : reason;
    const std::string text = choice.text.finish();
    if (!head_.stream) {
        choice.whole += text;
        return {};
    }
    std::string out = chunk(index, text, choice.next_offset == 0, {});
    out += chunk_open_;
    out += "{\"index\":" + std::to_string(index);
    out += head_.shape == Shape::chat ? ",\"delta\":{}" : ",\"text\":\"\"";
    out += ",\"logprobs\":null,\"finish_reason\":" + quoted(to_string(*choice.finish)) + "}]";
    if (head_.include_usage) out += ",\"usage\":null";
    out += "}";
    out += event_end;
    return out;
}

std::string AnswerStream::end(const PromptUsage& usage) {
    EXA_CHECK(all_finished());
    if (!head_.stream) return body(usage);
    std::string out;
    if (head_.include_usage) {
        out += chunk_open_ + "],\"usage\":" + usage_json(completion_tokens(), usage) + "}";
        out += event_end;
    }
    return out + "data: [DONE]\n\n";
}

std::string_view AnswerStream::echo(std::uint32_t choice) const {
    return head_.echo.empty() ? std::string_view() : std::string_view(head_.echo[choice]);
}

// Nothing when there is neither text nor a role nor an echo nor logprobs to tell.
std::string AnswerStream::chunk(std::uint32_t index, std::string_view text, bool first,
                                std::string_view logprobs) const {
    const bool chat = head_.shape == Shape::chat;
    std::string echoed;
    if (first && !echo(index).empty()) {
        echoed = std::string(echo(index)) + std::string(text);
        text = echoed;
    }
    if (text.empty() && logprobs.empty() && !(chat && first)) return {};
    std::string out;
    out.reserve(chunk_open_.size() + text.size() + logprobs.size() + chunk_rest_bytes);
    out += chunk_open_;
    out += "{\"index\":" + std::to_string(index);
    if (chat) {
        out += first ? ",\"delta\":{\"role\":\"assistant\",\"content\":" : ",\"delta\":{\"content\":";
        append_quoted(out, text);
        out += "}";
    } else {
        out += ",\"text\":";
        append_quoted(out, text);
    }
    out += ",\"logprobs\":";
    out += logprobs.empty() ? "null" : logprobs;
    out += ",\"finish_reason\":null}]";
    if (head_.include_usage) out += ",\"usage\":null";
    out += "}";
    out += event_end;
    return out;
}

// The `logprobs` of a chunk of this one token; of an answer in one piece they are kept instead.
std::string AnswerStream::token_logprobs(Choice& choice, std::string_view bytes, const TokenLogprobs& logprobs) const {
    if (head_.shape == Shape::chat) {
        std::string entry;
        append_logprob(entry, bytes, logprobs);
        if (head_.stream) return "{\"content\":[" + entry + "],\"refusal\":null}";
        if (!choice.chat_logprobs.empty()) choice.chat_logprobs += ',';
        choice.chat_logprobs += entry;
        return {};
    }
    if (!head_.stream) {
        choice.logprobs.add(bytes, logprobs, choice.code_points);
        return {};
    }
    CompletionLogprobs own = std::exchange(choice.logprobs, {});
    own.add(bytes, logprobs, choice.code_points);
    return own.json();
}

std::string AnswerStream::whole_choice(std::uint32_t index) const {
    const Choice& choice = choices_[index];
    std::string out = "{\"index\":" + std::to_string(index);
    std::string logprobs = "null";
    if (head_.shape == Shape::chat) {
        out += ",\"message\":{\"role\":\"assistant\",\"content\":" + quoted(choice.whole) + ",\"refusal\":null}";
        if (head_.logprobs) logprobs = "{\"content\":[" + choice.chat_logprobs + "],\"refusal\":null}";
    } else {
        out += ",\"text\":" + quoted(choice.whole);
        if (head_.logprobs) logprobs = choice.logprobs.json();
    }
    return out + ",\"logprobs\":" + logprobs + ",\"finish_reason\":" + quoted(to_string(*choice.finish)) + "}";
}

std::string AnswerStream::body(const PromptUsage& usage) const {
    std::string out = open_object(head_, whole_object(head_.shape));
    for (std::uint32_t i = 0; i < head_.choices; ++i) out += (i > 0 ? "," : "") + whole_choice(i);
    return out + "],\"usage\":" + usage_json(completion_tokens(), usage) + "}";
}

}  // namespace exa::openai
