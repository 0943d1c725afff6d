// EventQueue: what will happen, in order. A 4-ary heap over one flat array of small plain events: a push or a pop moves
// a few cache lines and allocates nothing once the array has grown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/world/time.h"

namespace exa::sim {

enum class EventKind : std::uint8_t {
    told,           // trace only: what a peer's membership said while it handled the entry before
    datagram,       // `slot`: its bytes; `from`: the sender's host; `arg`: its Origin
    sync,           // a membership message over a link, likewise
    link_broken,    // `from`: the host at the other end, `arg`: who was there, `slot`: in which generation
    timer,          // of the peer's node
    work,           // a paused or slow peer takes up what waits
    boot,           // the process starts
    serve,          // its identity is on disk: the node may speak
    replica_ready,  // `arg`: slot of the replica
    measure,        // the peer reports its loads
    rejoin,         // the peer looks its seeds up again
    fault,          // `arg`: which entry of the plan begins, with its number of times
    heal,           // `arg`: which active fault ends
    arrival,        // a client's request; `arg`: its number
    step,           // of a request; `arg`: which request, attempt and what
    sweep,          // the oracles look at what is overdue
};

const char* to_string(EventKind kind);

struct Event {
    WorldTime at;
    std::uint64_t order = 0;  // given by push: ties are broken by it
    std::uint64_t cause = 0;  // trace entry during which it was scheduled
    std::uint64_t arg = 0;
    Host host = 0;
    Host from = 0;
    std::uint32_t slot = 0;
    std::uint32_t boot = 0;  // of the host's process it is meant for; 0: whichever runs then
    EventKind kind = EventKind::timer;
};

class EventQueue {
  public:
    bool empty() const { return heap_.empty(); }
    std::size_t size() const { return heap_.size(); }
    // The queue must not be empty.
    const Event& top() const { return heap_.front(); }

    void push(Event event);
    Event pop();

  private:
    static bool before(const Event& a, const Event& b) { return a.at != b.at ? a.at < b.at : a.order < b.order; }

    std::vector<Event> heap_;
    std::uint64_t next_order_ = 0;
};

}  // namespace exa::sim
