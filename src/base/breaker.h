// Breaker: leaves something alone that fails several times in a row, then tries it once. (Nygard, Release It!, 2007,
// chapter 5.)
//
// closed -- failures in a row --> open -- time --> half open: one trial -- success --> closed
//                                   ^---- failure, twice the time -----+
#pragma once

#include <cstdint>

#include "base/time.h"

namespace exa {

struct BreakerLimits {
    std::uint32_t failures = 3;               // in a row, until it opens
    Duration open = std::chrono::seconds{1};  // until the first trial; doubles with every failed one
    Duration open_max = std::chrono::seconds{60};
};

class Breaker {
  public:
    // Closed, or open for long enough and no trial under way.
    bool allows(TimePoint now) const { return !is_open() || now >= until_; }
    bool is_open() const { return open_for_ > Duration::zero(); }
    // How long it stays open, as of the last failure that counted; 0 while closed.
    Duration open_for() const { return open_for_; }

    // Something was sent. True when it is the trial; whoever holds it must end it with succeed(), fail() or release().
    // A trial that may never end makes room for another at `trial_until`.
    bool start(TimePoint trial_until = time_never);

    void succeed() { *this = Breaker(); }
    // The first sign of an answer: enough for a trial, but no success yet, or what dies in the middle of every answer
    // would never open it.
    void answer() {
        if (is_open()) succeed();
    }
    void fail(TimePoint now, const BreakerLimits& limits);
    // The end said nothing about what was tried (busy, the client left).
    void release(bool trial);

  private:
    std::uint32_t failures_ = 0;  // in a row
    bool is_trying_ = false;
    Duration open_for_{0};  // 0: closed
    TimePoint until_{};     // nothing is sent before
};

}  // namespace exa
