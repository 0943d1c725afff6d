// Time is an argument. These types have no now(): only io/clock (production) and sim's world make values of them.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace exa {

using Duration = std::chrono::microseconds;

// Tag of the monotonic time line; its zero is arbitrary and differs between peers, so it never travels.
struct MonoClock {
    using duration = Duration;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<MonoClock>;
    static constexpr bool is_steady = true;
};

using TimePoint = MonoClock::time_point;

// Never: later than every time a clock can show.
inline constexpr TimePoint time_never = TimePoint::max();

// Unix time in microseconds. It may jump; use it for stamps people or other machines read, never for ordering.
struct WallTime {
    std::int64_t unix_us = 0;
    auto operator<=>(const WallTime&) const = default;

    std::int64_t unix_seconds() const { return unix_us / 1'000'000; }
};

}  // namespace exa
