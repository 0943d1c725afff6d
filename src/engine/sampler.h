// Sampler: from logits to a token.
//
// A pure function of logits, settings and (seed, position), the same on every machine: it uses its own exponential,
// sums in the order of token ids, and settles every tie by the lower id. The order is vLLM's: temperature, min_p,
// top_k, top_p of what is left.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/replica.h"

namespace exa::engine {

class Sampler {
  public:
    // `position` of the new token in its sequence, prompt included. A NaN is never chosen; nothing when no logit is
    // above minus infinity.
    std::optional<TokenId> sample(std::span<const float> logits, const Sampling& sampling, std::uint64_t position);

  private:
    struct Candidate {
        double weight;
        TokenId token;
    };

    TokenId draw(double target, std::span<const Candidate> candidates) const;
    void keep_likeliest(std::size_t count);
    std::span<const Candidate> nucleus(double mass);
    static double mass_of(std::span<const Candidate> candidates);

    std::vector<Candidate> candidates_;  // scratch
};

// The index of the largest logit, the lowest among equals; nothing when none is above minus infinity.
std::optional<TokenId> greedy(std::span<const float> logits);

}  // namespace exa::engine
