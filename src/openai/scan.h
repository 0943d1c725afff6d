// Scan: what an ingress needs of a request to route it, found in the original bytes.
//
// One pass, no values built, views instead of copies: the ingress relays the bytes and leaves the judgement to the
// target. The scan fails on what no target could take (text that is not one JSON object, a model that is not a string);
// any other member of a wrong type counts as absent here and is a 400 there. Of equal keys the last one counts, null
// counts as absent, as everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "openai/error.h"
#include "openai/json_cursor.h"
#include "openai/options.h"

namespace exa::openai {

// About the text of one segment (64 tokens): prompts that share less have no segment to share.
inline constexpr std::size_t leading_bytes_default = 256;

// Its views are of the body, which must outlive it.
struct Scan {
    JsonText model;  // empty when absent; its view lies in the body, for who sends another name on
    bool stream = false;
    std::optional<std::uint64_t> seed;  // a negative one wraps
    // max_completion_tokens, max_tokens or max_output_tokens, of one choice.
    std::optional<std::uint32_t> max_tokens;
    std::optional<std::uint32_t> n;
    JsonText user;
    JsonText prompt_cache_key;
    // The first bytes of instructions, messages, prompt and input, with the roles between them, for a hash that is
    // equal when prompts start alike; possibly cut inside a code point.
    std::string leading;
    // Bytes of text over 4, and a few for every message: for ranking, never for a refusal.
    std::uint32_t prompt_tokens_estimate = 0;
};

ApiResult<Scan> scan(std::string_view body, const Limits& limits = {},
                     std::size_t leading_bytes_max = leading_bytes_default);

}  // namespace exa::openai
