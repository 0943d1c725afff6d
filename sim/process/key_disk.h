// The key ring of an encrypted peer as its disk keeps it (src/app/access/key_store.h does the same with real files).
#pragma once

#include <optional>

#include "base/cluster_key.h"
#include "membership/key_ring.h"
#include "sim/disk/disk.h"

namespace exa::sim {

// The stored ring, and `first` where there is none. Nothing: the file is damaged, and the peer must not start.
std::optional<membership::KeyRing> load_keys(const Crypto& crypto, Disk& disk, const ClusterKey& first);

bool has_keys(Disk& disk);

// False when the disk is full: nothing changed.
bool store_keys(Disk& disk, const membership::KeyRing& ring);

}  // namespace exa::sim
