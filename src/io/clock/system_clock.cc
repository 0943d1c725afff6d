#include "io/clock/system_clock.h"

#include "io/steady_time.h"

namespace exa::io::clock {

TimePoint SystemClock::now() const {
    return steady_now();
}

WallTime SystemClock::wall() const {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return {std::chrono::duration_cast<std::chrono::microseconds>(since).count()};
}

std::chrono::steady_clock::time_point SystemClock::to_steady(TimePoint time) {
    return io::to_steady(time);
}

}  // namespace exa::io::clock
