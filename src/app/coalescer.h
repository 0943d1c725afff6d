// Coalescer: how long a data-plane thread pauses between two iterations of its event loop while events of streams come
// thick and fast.
//
// The problem. Events of many streams come one by one. To wake for each, to write to a link for each and to wake the
// ingress behind that link for each costs more than to pass the event on. The sketch: once events are so frequent that
// at least two will come within a coalescing window, the thread sleeps a window between iterations, and what came
// meanwhile leaves in one write a link and reaches the ingress in one read. A thread that waits longer than half a
// window for something to do never pauses, so an idle stream's events pass at once, and so do those that another peer
// has gathered. Only the peer that has the replicas pauses, so an event waits for one window at most.
#pragma once

#include "base/time.h"

namespace exa::app {

class Coalescer {
  public:
    // Zero: never a pause.
    explicit Coalescer(Duration window) : window_(window) {}

    // How long to pause after an iteration that passed on events of streams of its replicas, took `took`, and had been
    // waited for so long.
    Duration pause(Duration waited, Duration took) const {
        if (waited > window_ / 2 || took >= window_) return Duration(0);
        return window_ - took;
    }

  private:
    const Duration window_;
};

}  // namespace exa::app
