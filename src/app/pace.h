// Pace: how long a data-plane thread rests between two turns of its loop while events of streams come thick and fast.
//
// The problem. Events of many streams come one by one, and to wake for each, to write to a link for each and to wake
// the entry behind that link for each costs more than to pass the event on. The sketch: once events are so frequent
// that at least two will come within a spell, the thread sleeps a spell between turns, and what came meanwhile is one
// turn: it leaves in one write a link and reaches the entry in one read. A thread that waits longer than half a spell
// for something to do never rests, so an idle stream's events pass at once, and so do those that another peer has
// gathered. Only who has the replicas rests, so an event waits for one spell at most.
#pragma once

#include "base/time.h"

namespace exa::app {

class Pace {
  public:
    // Zero: never a rest.
    explicit Pace(Duration spell) : spell_(spell) {}

    // How long to rest after a turn that passed on events of streams of its replicas, took `took`, and had been waited
    // for so long.
    Duration rest(Duration waited, Duration took) const {
        if (waited > spell_ / 2 || took >= spell_) return Duration(0);
        return spell_ - took;
    }

  private:
    const Duration spell_;
};

}  // namespace exa::app
