// View: what one peer believes about the cluster at one moment. Immutable once published; readers share it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "wire/records.h"

namespace exa::membership {

// suspect: routing avoids it at once. dead: the ring drops it. lost: dead for so long that its work is re-created.
enum class Liveness : std::uint8_t { alive, suspect, dead, lost, left };

struct Member {
    wire::PeerRecord record;
    Liveness liveness = Liveness::alive;
    Incarnation incarnation;
    TimePoint since;  // of this liveness, on the observer's clock
};

struct LoadEntry {
    wire::LoadReport report;
    TimePoint measured;  // on the observer's clock: received minus the age it had
};

// What the replicas of one peer last reported. Never changed, so that views of one observer share what stayed.
struct PeerLoads {
    PeerId peer;
    std::vector<LoadEntry> entries;  // sorted by replica id, one each
};

struct View {
    std::uint64_t number = 0;  // grows with every publication of this peer
    PeerId self;
    std::vector<std::shared_ptr<const Member>> members;   // sorted by peer id; self is one of them
    std::vector<std::shared_ptr<const PeerLoads>> loads;  // of those that reported; sorted by peer id

    // Null when the peer is unknown. O(log n).
    const Member* find(PeerId id) const;
    const LoadEntry* find_load(const ReplicaId& id) const;
};

}  // namespace exa::membership
