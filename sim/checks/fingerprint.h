// Fingerprint: a node's state as two numbers, to see whether an input changed it (S1, S2).
#pragma once

#include <cstdint>

#include "node/node.h"

namespace exa::sim {

struct Fingerprint {
    // What it believes of whom: lives, incarnations, standings, editions.
    std::uint64_t beliefs = 0;
    // That, and all else that can be seen of it but its counters: accusers, times, timers, queues.
    std::uint64_t everything = 0;
    bool operator==(const Fingerprint&) const = default;
};

// O(peers).
Fingerprint fingerprint(const node::Node& node);

}  // namespace exa::sim
