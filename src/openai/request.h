// Requests: what a body of POST /v1/chat/completions or /v1/completions asks for, checked.
//
// The target of a request parses it whole; the ingress only scans and relays the original bytes. Which fields there are
// and what becomes of each is in the field table. Unknown fields are accepted and left alone. A known field that this
// server cannot honour is a 400 that names it, never ignored: a client must not get another answer than the one it
// asked for. `null` counts as absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "openai/error.h"
#include "openai/message.h"
#include "openai/options.h"
#include "openai/prompt.h"

namespace exa::openai {

struct ChatRequest {
    Options options;
    Conversation conversation;
    std::optional<std::int64_t> truncate_prompt_tokens;  // parse_truncation()
};

// max_tokens is always set: the API's default here is 16.
struct CompletionRequest {
    Options options;
    std::vector<Prompt> prompts;  // not empty; n choices each, in this order
    bool echo = false;            // the text of a choice begins with its prompt
    bool add_special_tokens = true;
    std::optional<std::int64_t> truncate_prompt_tokens;  // parse_truncation()
};

ApiResult<ChatRequest> parse_chat(std::string_view body, const Limits& limits = {}, const Features& features = {});
ApiResult<CompletionRequest> parse_completion(std::string_view body, const Limits& limits = {},
                                              const Features& features = {});

}  // namespace exa::openai
