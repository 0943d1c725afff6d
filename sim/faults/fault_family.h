// FaultFamily: the faults of one kind of thing (the network, processes, disks, ...), how each begins and how it ends.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "sim/scenarios/scenario.h"
#include "sim/world/time.h"

namespace exa::sim {

// One fault that has been picked from the plan and goes on.
struct Injection {
    const Fault& fault;
    std::vector<Host> hosts;  // its victims
    WorldTime until = world_never;
    Rng& rng;                            // of its entry of the plan
    std::uint64_t& effects;              // of its entry: how much it did
    std::vector<std::uint32_t> rules{};  // of the network, while it lasts
};

struct Ending {
    // It goes on: end() is to be called again then. world_never: it is over.
    WorldTime again = world_never;
    // Peers were kept from knowing: they get their time again.
    bool heals = false;
    bool reunites = false;  // a cut ended: both bearers of a name may have served until now
};

class FaultFamily {
  public:
    virtual ~FaultFamily() = default;

    // True when only peers that are up can be its victims.
    virtual bool needs_up(FaultKind) const { return false; }
    // The time at which end() is to be called; world_never: it stays.
    virtual WorldTime begin(Injection& injection) = 0;
    virtual Ending end(Injection& injection) = 0;
};

}  // namespace exa::sim
