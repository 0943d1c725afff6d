#include "kv/hybrid_clock.h"

#include <algorithm>

namespace exa::kv {

namespace {

constexpr int counter_bits = 16;
constexpr std::int64_t ahead_max_us = 60'000'000;

std::uint64_t stamp_of(std::int64_t unix_us) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(unix_us, 0) / 1000) << counter_bits;
}

}  // namespace

std::uint64_t HybridClock::next(WallTime now) {
    last_ = std::max(last_ + 1, stamp_of(now.unix_us));
    return last_;
}

void HybridClock::observe(WallTime now, std::uint64_t stamp) {
    if (stamp <= stamp_of(now.unix_us + ahead_max_us)) last_ = std::max(last_, stamp);
}

}  // namespace exa::kv
