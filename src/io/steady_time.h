// The steady clock of the system as a TimePoint, and back.
#pragma once

#include <chrono>

#include "base/time.h"

namespace exa::io {

inline TimePoint steady_now() {
    return TimePoint(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

// For timers. What is past the clock's range never comes.
inline std::chrono::steady_clock::time_point to_steady(TimePoint time) {
    using Steady = std::chrono::steady_clock;
    // Microseconds reach a thousand times further than Asio's nanoseconds.
    if (time.time_since_epoch() >= std::chrono::duration_cast<Duration>(Steady::duration::max()))
        return Steady::time_point::max();
    return Steady::time_point(std::chrono::duration_cast<Steady::duration>(time.time_since_epoch()));
}

}  // namespace exa::io
