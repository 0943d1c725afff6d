#include "engine/logprobs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/check.h"

namespace exa::engine {

namespace {

// Of one logit under the largest; right also when that is infinite.
double below(float logit, float largest) {
    return logit == largest ? 0.0 : static_cast<double>(logit) - static_cast<double>(largest);
}

// The likeliest first; of equals the lower id, which comes first already.
std::vector<TokenId> likeliest(std::span<const float> logits, std::size_t count) {
    std::vector<TokenId> best;
    if (count == 0) return best;
    for (std::size_t i = 0; i < logits.size(); ++i) {
        if (std::isnan(logits[i])) continue;
        if (best.size() == count && !(logits[i] > logits[best.back()])) continue;
        if (best.size() == count) best.pop_back();
        const auto at = std::ranges::find_if(best, [&](TokenId other) { return logits[i] > logits[other]; });
        best.insert(at, static_cast<TokenId>(i));
    }
    return best;
}

}  // namespace

TokenLogprobs logprobs_of(std::span<const float> logits, TokenId token, std::uint32_t top) {
    EXA_CHECK(token < logits.size());
    float largest = -std::numeric_limits<float>::infinity();
    for (const float logit : logits)
        if (logit > largest) largest = logit;
    double total = 0;
    for (const float logit : logits)
        if (!std::isnan(logit)) total += std::exp(below(logit, largest));
    const double log_total = std::log(total);
    const auto logprob = [&](TokenId id) { return static_cast<float>(below(logits[id], largest) - log_total); };

    TokenLogprobs logprobs;
    logprobs.logprob = logprob(token);
    for (const TokenId id : likeliest(logits, top)) logprobs.top.push_back({id, logprob(id)});
    return logprobs;
}

}  // namespace exa::engine
