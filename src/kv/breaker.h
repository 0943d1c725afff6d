// Breaker: whether something that has failed of late is worth another try.
//
// Closed, everything is tried. After `failures` in a row it opens: nothing is tried for a while, then one thing; if
// that fails too, the while doubles. (Nygard, Release It!, 2007, chapter 5.)
#pragma once

#include <cstdint>

#include "base/time.h"

namespace exa::kv {

struct BreakerConfig {
    std::uint32_t failures = 3;
    Duration wait_min = std::chrono::seconds{1};
    Duration wait_max = std::chrono::seconds{60};
};

class Breaker {
  public:
    explicit Breaker(const BreakerConfig& config = {}) : config_(config) {}

    bool is_open() const { return open_; }
    // Counts as a try: while it is open, true at most once a wait.
    bool allows(TimePoint now);
    // Both return whether it has opened or closed by that. Late answers are welcome: whatever worked, works.
    bool succeeded();
    bool failed(TimePoint now);

  private:
    const BreakerConfig config_;
    bool open_ = false;
    bool is_trying_ = false;
    std::uint32_t failures_ = 0;
    Duration wait_{};
    TimePoint next_try_{};
};

}  // namespace exa::kv
