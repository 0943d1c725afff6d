// The identity of a peer on its simulated disk; what its file says is production's (node/identity.h).
#pragma once

#include <optional>

#include "base/mutant.h"
#include "base/time.h"
#include "node/identity.h"
#include "sim/disk/disk.h"

namespace exa::sim {

struct IdentityOpened {
    // Nothing: the file is damaged or the disk is full. The peer must not start then.
    std::optional<node::Identity> identity;
    Duration took{0};  // until it is safe on the disk, and the peer may speak
};

// `fresh` is the id of a disk that holds none.
IdentityOpened open_identity(Disk& disk, PeerId fresh, Mutant mutant = Mutant::none);

}  // namespace exa::sim
