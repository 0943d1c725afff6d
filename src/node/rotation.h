// Rotation: when a change of the key ring can cut nobody off.
//
// The rules, from what each peer last said that it holds on its disk and seals with:
//   use     every peer that is alive, suspect or dead but not lost holds the key;
//   remove  nobody who has not left seals with it, and all of them hold the key that we seal with; and while one of
//           them cannot be reached, only keys older than that one go.
// The last rule is for partitions, in which both sides rotate: keys are removed in one order only, so the newest one
// that both sides held when they parted is left on both.
#pragma once

#include "base/cluster_key.h"
#include "base/result.h"
#include "membership/key_ring.h"
#include "membership/view.h"

namespace exa::node {

// Each gives errc::would_cut_off with the reason and the peers' names when an operator may still insist, or another
// errc when not.
Result<void> check_add(const membership::KeyRing& ring);
Result<void> check_use(const membership::View& view, const membership::KeyRing& ring, KeyId id);
Result<void> check_remove(const membership::View& view, const membership::KeyRing& ring, KeyId id);

}  // namespace exa::node
