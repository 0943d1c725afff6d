#include "kv/hybrid_clock.h"

#include <algorithm>

namespace exa::kv {

namespace {

constexpr int tag_bits = 16;
constexpr std::uint64_t step = std::uint64_t{1} << tag_bits;
constexpr std::int64_t step_us = 16;
constexpr std::int64_t ahead_max_us = 60'000'000;

std::uint64_t stamp_of(std::int64_t unix_us) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(unix_us, 0) / step_us) << tag_bits;
}

}  // namespace

std::uint64_t HybridClock::next(WallTime now, std::uint64_t after) {
    observe(now, after);
    last_ = std::max(last_ + step, stamp_of(now.unix_us));
    return std::max(last_, after / step * step + step) | tag_;
}

std::uint64_t HybridClock::following(std::uint64_t stamp) const {
    return (stamp / step * step + step) | tag_;
}

void HybridClock::observe(WallTime now, std::uint64_t stamp) {
    if (stamp <= stamp_of(now.unix_us + ahead_max_us)) last_ = std::max(last_, stamp / step * step);
}

}  // namespace exa::kv
