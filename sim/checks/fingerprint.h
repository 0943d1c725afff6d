// Fingerprint: a node's state, to see whether and how an input changed it (S1, S2).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "membership/view.h"
#include "node/node.h"

namespace exa::sim {

// What a node holds of one peer; updates only ever make it greater, except the version, which stands for itself.
struct Belief {
    PeerId peer;
    Generation generation;
    Incarnation incarnation;
    membership::Liveness liveness = membership::Liveness::alive;
    std::uint64_t version = 0;
    std::uint32_t life = 0;
    bool hidden = false;
    bool operator==(const Belief&) const = default;
};

struct Fingerprint {
    std::vector<Belief> beliefs;  // sorted by peer
    // A hash of that and all else that can be seen of the node but its counters: accusers, times, timers, queues.
    std::uint64_t everything = 0;
    bool operator==(const Fingerprint&) const = default;
};

// O(peers).
Fingerprint fingerprint(const node::Node& node);

// A peer of whom more was believed before than after, or who is new: what no repetition of old messages may bring
// about. Progress may be: what was heard before its subject was known may be of use when it comes again.
std::optional<PeerId> goes_back(const std::vector<Belief>& before, const std::vector<Belief>& after);

}  // namespace exa::sim
