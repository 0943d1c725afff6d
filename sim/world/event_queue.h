// EventQueue: what will happen, in order. A 4-ary heap of keys, four to a cache line, over events that stay where they
// are: a push or a pop moves a few cache lines and allocates nothing once the arrays have grown.
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
    link_silent,    // likewise; what was sent on that link some time ago has vanished
    timer,          // of the peer's node
    work,           // a paused or slow peer takes up what waits
    boot,           // the process starts
    serve,          // its identity is on disk: the node may speak
    replica_ready,  // `arg`: slot of the replica
    measure,        // the peer reports its loads
    lookup,         // the name service answers the peer
    fault,          // `arg`: which entry of the plan begins, with its number of times
    heal,           // `arg`: which active fault ends
    arrival,        // a client's request; `arg`: its number
    client,         // what a client does next; `arg`: a StepArg
    step,           // of a request at its ingress or on the way to its target, likewise
    receiver,       // of a request at its target, likewise
    kv,             // of a KV service; `arg`: number of the message
    values,         // of the values of the Redis port, likewise
    sweep,          // the oracles look at what is overdue
};

const char* to_string(EventKind kind);

struct Event {
    WorldTime at;
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
    const Event& top() const { return events_[heap_.front().place()]; }

    void push(const Event& event);
    Event pop();

  private:
    // How many events may wait at once, and how many may be pushed in all: 16 million and a trillion.
    static constexpr unsigned place_bits = 24;

    struct Key {
        WorldTime at;
        std::uint64_t rest = 0;  // the number of the push, by which ties are broken, over the place in events_

        std::size_t place() const { return rest & ((std::uint64_t{1} << place_bits) - 1); }
        auto operator<=>(const Key&) const = default;
    };

    std::vector<Key> heap_;
    std::vector<Event> events_;
    std::vector<std::uint32_t> free_;  // places in events_
    std::uint64_t pushed_ = 0;
};

}  // namespace exa::sim
