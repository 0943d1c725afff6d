// RateMeter: so much a minute, and so much at once, by GCRA (ITU-T I.371, virtual scheduling).
//
// A token bucket that drips would have to be filled by a timer or by arithmetic on a level that rounds each time. GCRA
// keeps one moment instead: when the meter will be full again. Taking moves it into the future by what the amount costs
// in time; an amount fits when it moves to at most a burst's cost from now. Whatever the order of events, what was
// taken between any two moments is at most the burst and the rate times the time between them.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace exa::router {

class RateMeter {
  public:
    static constexpr std::uint64_t per_minute_max = 100'000'000;

    // `per_minute` 0: without a limit; else at most per_minute_max. `burst`, at least 1, is what fits after a rest.
    RateMeter(std::uint64_t per_minute, std::uint64_t burst);

    // How long until `amount` fits; zero when it does. More than a burst fits when a burst does.
    Duration wait(TimePoint now, std::uint64_t amount) const;

    // Takes `amount`, whether it fits or not. What does not fit is owed: later amounts wait for it, at most debt_max
    // longer than they would behind an empty meter.
    void charge(TimePoint now, std::uint64_t amount);

    static constexpr std::chrono::hours debt_max{1};

  private:
    std::chrono::nanoseconds cost(std::uint64_t amount) const;
    std::chrono::nanoseconds full_at(TimePoint now) const;

    std::uint64_t per_minute_;
    std::uint64_t burst_;
    std::chrono::nanoseconds full_at_ = std::chrono::nanoseconds::min();
};

}  // namespace exa::router
