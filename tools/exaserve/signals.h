// Signals: SIGINT, SIGTERM and SIGHUP, taken one at a time instead of by a handler.
#pragma once

#include <signal.h>

#include <chrono>

namespace exa::cli {

// Made before any thread is, so that all of them leave the signals alone.
class Signals {
  public:
    Signals() {
        sigemptyset(&set_);
        for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set_, number);
        sigprocmask(SIG_BLOCK, &set_, nullptr);
    }
    // True when one came within `wait`.
    bool take(std::chrono::milliseconds wait) const {
        const timespec time{wait.count() / 1000, wait.count() % 1000 * 1'000'000};
        return sigtimedwait(&set_, nullptr, &time) > 0;
    }

  private:
    sigset_t set_;
};

}  // namespace exa::cli
