// Derives from a peer's view of the cluster which peers keep KV segments.
#pragma once

#include <cstddef>
#include <memory>

#include "kv/placement.h"
#include "membership/view.h"

namespace exa::node {

// Copies of each segment, on distinct racks if there are enough.
inline constexpr std::size_t kv_copies = 2;

// Holders are the peers that keep KV cache, are not lost, have not left and are not leaving; those that are not dead
// are in reach. A draining peer is no holder any more: its segments belong elsewhere.
kv::Placement kv_placement(const membership::View& view, std::size_t copies = kv_copies);

}  // namespace exa::node
