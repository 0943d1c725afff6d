// POST /v1/responses: what a body asks for, checked.
//
// Text in, text out, one answer a request. Nothing is stored, so what refers to earlier requests is refused, as are
// tools and what runs in the background.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "openai/error.h"
#include "openai/message.h"
#include "openai/options.h"

namespace exa::openai {

// What every response object tells back of its request.
struct ResponseSettings {
    std::optional<std::string> instructions;
    std::optional<std::uint32_t> max_output_tokens;
    std::string metadata = "{}";  // a JSON object
    double temperature = 1.0;
    double top_p = 1.0;
    std::uint32_t top_logprobs = 0;
    std::string truncation = "disabled";
    std::optional<std::string> user;
    std::optional<std::string> prompt_cache_key;
};

struct ResponsesRequest {
    Options options;            // logprobs when `include` asks for them
    Conversation conversation;  // instructions come first, as the system's
    ResponseSettings settings;
};

ApiResult<ResponsesRequest> parse_responses(std::string_view body, const Limits& limits = {},
                                            const Features& features = {});

}  // namespace exa::openai
