// The world's own time line. Peers have clocks of their own (process/local_clock.h): the types keep the two apart.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace exa::sim {

struct WorldClock {
    using duration = Duration;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<WorldClock>;
    static constexpr bool is_steady = true;
};

// Microseconds since the run began.
using WorldTime = WorldClock::time_point;

inline constexpr WorldTime world_never = WorldTime::max();

// A machine of the simulated world, by its number.
using Host = std::uint32_t;

inline double seconds_of(Duration duration) {
    return static_cast<double>(duration.count()) * 1e-6;
}
inline double seconds_of(WorldTime time) {
    return seconds_of(time.time_since_epoch());
}
// Rounded to microseconds; `seconds` must fit.
inline Duration duration_of(double seconds) {
    return Duration{static_cast<Duration::rep>(seconds * 1e6 + 0.5)};
}

}  // namespace exa::sim
