// Identity of a peer as its data directory keeps it: the id made once, and a generation that grows with every start and
// is on the disk before anyone hears of it (src/app/shared/data_dir.h does the same with real files).
#pragma once

#include <optional>

#include "base/ids.h"
#include "base/time.h"
#include "sim/disk/disk.h"

namespace exa::sim {

struct Identity {
    PeerId id;
    Generation generation;
};

struct IdentityOpened {
    // Nothing: the file is damaged or the disk is full. The peer must not start then, never under a new identity.
    std::optional<Identity> identity;
    Duration took{0};  // until it is safe on the disk, and the peer may speak
};

// `fresh` is the id of a disk that holds none. `persists` false is a mutant: the new generation is never written.
IdentityOpened open_identity(Disk& disk, PeerId fresh, bool persists = true);

}  // namespace exa::sim
