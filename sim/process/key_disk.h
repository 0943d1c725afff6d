// The key ring of an encrypted peer as its disk keeps it: node/key_history.h on a simulated disk, as
// src/app/access/key_store.h is with real files.
#pragma once

#include <optional>

#include "base/cluster_key.h"
#include "membership/key_ring.h"
#include "sim/disk/disk.h"

namespace exa::sim {

// The stored ring with `given`, the key of the operator's file; what is new in it is stored first. Nothing: the file is
// damaged or the disk is full, and the peer must not start.
std::optional<membership::KeyRing> load_keys(const Crypto& crypto, Disk& disk, const ClusterKey& given);

bool has_keys(Disk& disk);

// False when the disk is full: nothing changed.
bool store_keys(Disk& disk, const membership::KeyRing& ring);

}  // namespace exa::sim
