// What an answer to a chat or a completion is told beside its tokens, and the names it goes by.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "openai/error.h"

namespace exa::openai {

enum class Shape : std::uint8_t { chat, completion };

// The same for every chunk of an answer, and after a failover: the ingress makes it.
struct AnswerHead {
    Shape shape = Shape::chat;
    std::string id;                // "chatcmpl-..." or "cmpl-..."
    std::int64_t created = 0;      // Unix seconds
    std::string model;             // as the client named it
    std::string fingerprint;       // system_fingerprint; empty leaves it out
    bool stream = false;           // SSE events, else one JSON object
    bool include_usage = false;    // a usage chunk before [DONE]
    std::uint32_t choices = 1;     // n for each prompt, those of the first prompt first
    bool logprobs = false;         // every token comes with its own
    std::uint32_t min_tokens = 0;  // of a choice, in which no stop string is looked for
    // Texts that choices begin with: none, or one for every choice (a completion's echo). Valid UTF-8.
    std::vector<std::string> echo;
};

enum class Finish : std::uint8_t { stop, length };

struct PromptUsage {
    std::uint32_t prompt_tokens = 0;  // of all prompts
    std::uint32_t cached_tokens = 0;  // of them, found in a KV cache
};

// An error after the first byte of a stream: one event, after which the stream ends without [DONE].
std::string error_event(const ApiError& error);

// A name and 32 hexadecimal digits of two random numbers: "resp_0123...".
std::string random_id(std::string_view prefix, std::uint64_t random_high, std::uint64_t random_low);

// The id of an answer: "chatcmpl-" or "cmpl-" and a random rest.
std::string answer_id(Shape shape, std::uint64_t random_high, std::uint64_t random_low);

}  // namespace exa::openai
