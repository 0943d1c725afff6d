// SystemClock: the one place where production reads time.
#pragma once

#include <chrono>

#include "base/time.h"

namespace exa::io::clock {

class SystemClock {
  public:
    // CLOCK_MONOTONIC: never back, not across machines.
    TimePoint now() const;
    // CLOCK_REALTIME.
    WallTime wall() const;

    // What std::chrono (and so Asio's timers) calls the same moment; time_never is its own maximum.
    static std::chrono::steady_clock::time_point to_steady(TimePoint time);
};

}  // namespace exa::io::clock
