#include "router/tenant_budget.h"

#include <algorithm>
#include <chrono>

namespace exa::router {

namespace {

constexpr std::int64_t day_us = 86'400'000'000;

RateMeter meter(std::uint64_t per_minute, std::uint32_t burst_seconds) {
    return {per_minute, std::max<std::uint64_t>(1, per_minute * burst_seconds / 60)};
}

std::int64_t day_of(WallTime wall) {
    return wall.unix_us / day_us;
}

}  // namespace

TenantBudget::TenantBudget(const TenantLimits& limits)
    : limits_(limits),
      requests_(meter(limits.requests_per_minute, limits.burst_seconds)),
      tokens_(meter(limits.tokens_per_minute, limits.burst_seconds)) {}

void TenantBudget::set_limits(const TenantLimits& limits) {
    if (limits == limits_) return;
    limits_ = limits;
    requests_ = meter(limits.requests_per_minute, limits.burst_seconds);
    tokens_ = meter(limits.tokens_per_minute, limits.burst_seconds);
}

std::optional<Shortage> TenantBudget::admit(TimePoint now, WallTime wall, std::uint64_t prompt_tokens) {
    begin_day(wall);
    if (limits_.tokens_per_day > 0 && day_.tokens >= limits_.tokens_per_day)
        return Shortage{Scarce::quota, Duration((day_.day + 1) * day_us - wall.unix_us)};
    if (const Duration wait = tokens_.wait(now, 1); wait > Duration::zero()) return Shortage{Scarce::tokens, wait};
    if (const Duration wait = requests_.wait(now, 1); wait > Duration::zero()) return Shortage{Scarce::requests, wait};
    requests_.charge(now, 1);
    spend(now, wall, prompt_tokens);
    return std::nullopt;
}

void TenantBudget::spend(TimePoint now, WallTime wall, std::uint64_t tokens) {
    begin_day(wall);
    tokens_.charge(now, tokens);
    day_.tokens += tokens;
}

void TenantBudget::add_use(const DayUse& use) {
    if (use.day > day_.day) day_ = {use.day, 0};
    if (use.day == day_.day) day_.tokens += use.tokens;
}

// A clock that is set back gives no second day.
void TenantBudget::begin_day(WallTime wall) {
    if (day_of(wall) > day_.day) day_ = {day_of(wall), 0};
}

}  // namespace exa::router
