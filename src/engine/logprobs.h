// Logprobs: how likely a model found a token, from its logits.
#pragma once

#include <cstdint>
#include <span>

#include "engine/replica.h"

namespace exa::engine {

// Of `token`, an index of `logits`, and of the `top` likeliest. A NaN is no candidate and counts for nothing. Reported,
// never sampled from: the last bit may differ between C libraries.
TokenLogprobs logprobs_of(std::span<const float> logits, TokenId token, std::uint32_t top);

}  // namespace exa::engine
