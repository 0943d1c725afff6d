// Trace: everything that happened, as one rolling 64-bit hash, and entry by entry for whoever listens.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/world/event_queue.h"

namespace exa::sim {

struct TraceEntry {
    std::uint64_t number = 0;  // from 1
    std::uint64_t cause = 0;   // the entry during which it was scheduled; 0: the start
    WorldTime at;
    EventKind kind = EventKind::timer;
    Host host = 0;
    Host from = 0;
    std::uint64_t arg = 0;
    std::uint64_t digest = 0;  // of the bytes it carries
    std::uint64_t hash = 0;    // over all entries up to this one
    bool operator==(const TraceEntry&) const = default;
};

class Trace {
  public:
    // Called for every entry, in order; false ends the run.
    using Listener = std::function<bool(const TraceEntry&)>;

    void listen(Listener listener) { listener_ = std::move(listener); }
    // Adds an entry: its number and hash are given here.
    void note(TraceEntry entry);

    std::uint64_t hash() const { return hash_; }
    std::uint64_t entries() const { return entries_; }
    // The last entry about this host; 0: there is none.
    std::uint64_t last_of(Host host) const { return host < last_of_.size() ? last_of_[host] : 0; }
    bool stopped() const { return stopped_; }

  private:
    Listener listener_;
    std::uint64_t hash_ = 0;
    std::uint64_t entries_ = 0;
    std::vector<std::uint64_t> last_of_;  // by host
    bool stopped_ = false;
};

}  // namespace exa::sim
