#include "engine/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "engine/philox.h"

namespace exa::engine {

namespace {

// e^x for x <= 0, within 1e-15 of the truth and the same bits under every C library; 0 below -700.
// x = n ln 2 + r with |r| <= ln 2 / 2, then the Taylor series of e^r to r^12.
double exponential(double x) {
    if (!(x > -700.0)) return 0.0;
    const double n = std::nearbyint(x * 0x1.71547652b82fep+0);
    // ln 2 in two parts, the first short enough for n times it to be exact.
    const double r = (x - n * 0x1.62e42fee00000p-1) - n * 0x1.a39ef35793c76p-33;
    double sum = 1.0;
    for (int k = 12; k > 0; --k) sum = 1.0 + sum * r / k;
    return sum * std::bit_cast<double>(static_cast<std::uint64_t>(static_cast<std::int64_t>(n) + 1023) << 52);
}

}  // namespace

std::optional<TokenId> greedy(std::span<const float> logits) {
    std::optional<TokenId> best;
    float largest = -std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < logits.size(); ++i) {
        if (!(logits[i] > largest)) continue;
        largest = logits[i];
        best = static_cast<TokenId>(i);
    }
    return best;
}

std::optional<TokenId> Sampler::sample(std::span<const float> logits, const Sampling& sampling,
                                       std::uint64_t position) {
    const std::optional<TokenId> top = greedy(logits);
    if (!top || sampling.temperature <= 0 || std::isinf(logits[*top])) return top;

    const double largest = logits[*top];
    const double inverse = 1.0 / sampling.temperature;
    const auto min_p = static_cast<double>(sampling.min_p);
    candidates_.clear();
    double total = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
        const double weight = exponential((logits[i] - largest) * inverse);
        // The likeliest weighs 1.
        if (!(weight > 0) || weight < min_p) continue;
        candidates_.push_back({weight, static_cast<TokenId>(i)});
        total += weight;
    }
    if (sampling.top_k > 0 && sampling.top_k < candidates_.size()) {
        keep_likeliest(sampling.top_k);
        total = mass_of(candidates_);
    }
    const double u = uniform(sampling.seed, position);
    if (sampling.top_p >= 1) return draw(u * total, candidates_);

    const std::span<const Candidate> kept = nucleus(sampling.top_p * total);
    return draw(u * mass_of(kept), kept);
}

double Sampler::mass_of(std::span<const Candidate> candidates) {
    double mass = 0;
    for (const Candidate& candidate : candidates) mass += candidate.weight;
    return mass;
}

// They stay in the order of token ids.
void Sampler::keep_likeliest(std::size_t count) {
    const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(count);
    std::ranges::nth_element(candidates_, end - 1, [](const Candidate& a, const Candidate& b) {
        return a.weight != b.weight ? a.weight > b.weight : a.token < b.token;
    });
    candidates_.erase(end, candidates_.end());
    std::ranges::sort(candidates_, {}, &Candidate::token);
}

TokenId Sampler::draw(double target, std::span<const Candidate> candidates) const {
    double sum = 0;
    for (const Candidate& candidate : candidates) {
        sum += candidate.weight;
        if (sum > target) return candidate.token;
    }
    // Rounding can leave the target at the very end.
    return candidates.back().token;
}

// The fewest likeliest candidates, one at least, whose weights reach `mass`, likeliest first. Most nuclei are small, so
// candidates are taken off a heap one by one; they end up at the back of the vector, in order of their removal from its
// end.
std::span<const Sampler::Candidate> Sampler::nucleus(double mass) {
    const auto less_likely = [](const Candidate& a, const Candidate& b) {
        return a.weight != b.weight ? a.weight < b.weight : a.token > b.token;
    };
    std::ranges::make_heap(candidates_, less_likely);
    auto end = candidates_.end();
    double sum = 0;
    while (end != candidates_.begin() && (sum < mass || end == candidates_.end())) {
        std::pop_heap(candidates_.begin(), end, less_likely);
        --end;
        sum += end->weight;
    }
    std::reverse(end, candidates_.end());
    return {end, candidates_.end()};
}

}  // namespace exa::engine
