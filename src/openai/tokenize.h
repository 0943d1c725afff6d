// POST /tokenize and POST /detokenize, with the members that vLLM's clients use.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "openai/error.h"
#include "openai/message.h"
#include "openai/options.h"

namespace exa::openai {

struct TokenizeRequest {
    std::string model;                             // empty: the only one served
    std::variant<std::string, Conversation> text;  // `prompt`, or `messages` for the chat template
    bool add_special_tokens = true;  // such as BOS; false unless told with messages, whose template writes them
    bool return_token_strs = false;
};

// `prompt` or `messages`, not both.
ApiResult<TokenizeRequest> parse_tokenize(std::string_view body, const Limits& limits = {});

// `token_bytes`: one for each token, or nothing when they were not asked for.
std::string tokenize_json(std::span<const std::uint32_t> tokens,
                          const std::optional<std::vector<std::string>>& token_bytes, std::uint32_t context_tokens);

struct DetokenizeRequest {
    std::string model;  // empty: the only one served
    std::vector<std::uint32_t> tokens;
};

ApiResult<DetokenizeRequest> parse_detokenize(std::string_view body, const Limits& limits = {});

// `bytes` of all tokens together; ill-formed UTF-8 is replaced.
std::string detokenize_json(std::string_view bytes);

}  // namespace exa::openai
