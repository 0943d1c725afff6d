// Search in a sorted list of peer ids. Ids are random, so that an id's value says about where it stands: among n the
// guess is wrong by about sqrt(n) / 2, a few cache lines, where halving would read log2(n) of them. Any other
// distribution costs 2 log2(n) steps at the most.
#pragma once

#include <cstddef>
#include <span>

#include "base/ids.h"

namespace exa::membership {

// Of the first id that is not below `id`; the size when there is none.
std::size_t lower_bound(std::span<const PeerId> ids, PeerId id);

}  // namespace exa::membership
