// TenantBudget: what one tenant may still ask of one ingress: requests and tokens a minute, tokens a day.
//
// Tokens are counted when they are known. A request comes in while any are left and takes those of its prompt, as the
// ingress estimates them; those of the answer are taken when it ends. What goes beyond the limit so is owed, and the
// next requests wait for it: the mean over time keeps to the rate, and no request is too large to ever come in.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "router/rate_meter.h"

namespace exa::router {

// 0: without a limit.
struct TenantLimits {
    std::uint64_t requests_per_minute = 0;  // at most RateMeter::per_minute_max
    std::uint64_t tokens_per_minute = 0;    // the same
    std::uint64_t tokens_per_day = 0;       // days of UTC
    std::uint32_t burst_seconds = 10;       // so many seconds' worth of the rates may come at once; at most 3600

    bool operator==(const TenantLimits&) const = default;
};

enum class Scarce : std::uint8_t { requests, tokens, quota };

// Why a request may not come in, and when it is worth another try; of a quota, the next day.
struct Shortage {
    Scarce what = Scarce::requests;
    Duration wait{0};
};

// Tokens of one day of UTC, which is counted since 1970-01-01.
struct DayUse {
    std::int64_t day = INT64_MIN;
    std::uint64_t tokens = 0;

    bool operator==(const DayUse&) const = default;
};

class TenantBudget {
  public:
    explicit TenantBudget(const TenantLimits& limits);

    // Other rates begin rested; what the day has used stays.
    void set_limits(const TenantLimits& limits);

    // Takes one request and the tokens of its prompt, or nothing and says why.
    std::optional<Shortage> admit(TimePoint now, WallTime wall, std::uint64_t prompt_tokens);
    // Tokens of an answer, whatever is left.
    void spend(TimePoint now, WallTime wall, std::uint64_t tokens);

    // Of the last day on which it was asked.
    DayUse day_use() const { return day_; }
    // What was used before this budget was made.
    void add_use(const DayUse& use);

  private:
    void begin_day(WallTime wall);

    TenantLimits limits_;
    RateMeter requests_;
    RateMeter tokens_;
    DayUse day_;
};

}  // namespace exa::router
