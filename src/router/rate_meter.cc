#include "router/rate_meter.h"

#include <algorithm>

#include "base/check.h"

namespace exa::router {

namespace {

using std::chrono::nanoseconds;

constexpr std::uint64_t minute_ns = 60'000'000'000;
static_assert(RateMeter::per_minute_max * minute_ns < INT64_MAX);
// Of one amount: two years, far beyond every debt.
constexpr std::uint64_t minutes_max = 1'000'000;

}  // namespace

RateMeter::RateMeter(std::uint64_t per_minute, std::uint64_t burst) : per_minute_(per_minute), burst_(burst) {
    EXA_CHECK(per_minute <= per_minute_max && burst > 0);
}

// Rounded up, so that rounding never lets more through than the rate.
nanoseconds RateMeter::cost(std::uint64_t amount) const {
    const std::uint64_t minutes = std::min(amount / per_minute_, minutes_max);
    const std::uint64_t rest = amount % per_minute_ * minute_ns;
    return nanoseconds(minutes * minute_ns + (rest + per_minute_ - 1) / per_minute_);
}

nanoseconds RateMeter::full_at(TimePoint now) const {
    return std::max(full_at_, nanoseconds(now.time_since_epoch()));
}

Duration RateMeter::wait(TimePoint now, std::uint64_t amount) const {
    if (per_minute_ == 0) return Duration::zero();
    const nanoseconds over =
        full_at(now) + cost(std::min(amount, burst_)) - cost(burst_) - nanoseconds(now.time_since_epoch());
    return std::max(Duration::zero(), std::chrono::ceil<Duration>(over));
}

void RateMeter::charge(TimePoint now, std::uint64_t amount) {
    if (per_minute_ == 0) return;
    const nanoseconds latest = nanoseconds(now.time_since_epoch()) + cost(burst_) + debt_max;
    full_at_ = std::min(full_at(now) + cost(amount), latest);
}

}  // namespace exa::router
