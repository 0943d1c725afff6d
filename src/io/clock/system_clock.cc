#include "io/clock/system_clock.h"

namespace exa::io {

TimePoint SystemClock::now() const {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return TimePoint(std::chrono::duration_cast<Duration>(since));
}

WallTime SystemClock::wall() const {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return {std::chrono::duration_cast<std::chrono::microseconds>(since).count()};
}

std::chrono::steady_clock::time_point SystemClock::to_steady(TimePoint time) {
    using Steady = std::chrono::steady_clock;
    // Microseconds reach a thousand times further than Asio's nanoseconds: later is never.
    if (time.time_since_epoch() >= std::chrono::duration_cast<Duration>(Steady::duration::max()))
        return Steady::time_point::max();
    return Steady::time_point(std::chrono::duration_cast<Steady::duration>(time.time_since_epoch()));
}

}  // namespace exa::io
