// Rotation: when a change of the key ring can cut nobody off.
//
// The rules, from what each peer last said that it holds on its disk and seals with:
//   use     every peer that is alive, suspect or dead but not lost holds the key;
//   remove  nobody who has not left seals with it, and all of them hold the key that we seal with; and while one of
//           them cannot be reached, only keys older than that one go.
// A peer that has restarted may know nothing of members that are down. So the first condition is that it has met its
// cluster again, and for use and remove also every member that it remembers.
// The last rule is for partitions, in which both sides rotate: keys are removed in one order only, so the newest one
// that both sides held when they parted is left on both.
#pragma once

#include <vector>

#include "base/cluster_key.h"
#include "base/result.h"
#include "membership/key_ring.h"
#include "membership/member_memory.h"
#include "membership/view.h"

namespace exa::node {

// Each gives errc::would_cut_off with the reason and the peers' names when an operator may still insist, or another
// errc when not.
// For every command that binds other peers: errc::not_rejoined before the first comparison with a member.
Result<void> check_rejoined(bool is_joined);
// Members of before that were not met since the start count as unreachable: errc::would_cut_off names them.
Result<void> check_met(const std::vector<membership::RememberedMember>& unmet);
Result<void> check_add(const membership::KeyRing& ring);
Result<void> check_use(const membership::View& view, const membership::KeyRing& ring, KeyId id);
Result<void> check_remove(const membership::View& view, const membership::KeyRing& ring, KeyId id);

}  // namespace exa::node
