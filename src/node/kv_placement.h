// From a peer's view of the cluster to who keeps KV segments.
#pragma once

#include <cstddef>
#include <memory>

#include "kv/placement.h"
#include "membership/view.h"

namespace exa::node {

// Of each segment, on distinct racks where there are as many.
inline constexpr std::size_t kv_copies = 2;

// Holders are the peers that keep KV cache, are not lost, have not left and do not mean to; in reach those that are
// not dead. A peer that drains is no holder any more: what it has is due elsewhere.
kv::Placement kv_placement(const membership::View& view, std::size_t copies = kv_copies);

}  // namespace exa::node
