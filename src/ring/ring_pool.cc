#include "ring/ring_pool.h"

#include <algorithm>
#include <vector>

namespace exa::ring {

std::shared_ptr<const Ring> RingPool::get(std::span<const RingMember> members, const Ring* before) {
    const std::vector<RingMember> canonical = canonical_members(members);
    std::weak_ptr<const Ring>& known = rings_[members_digest(canonical)];
    std::shared_ptr<const Ring> ring = known.lock();
    // Two lists with one digest are nearly impossible, and harmless: the later one takes the place.
    if (ring == nullptr || !std::ranges::equal(ring->members(), canonical)) {
        ring = std::make_shared<const Ring>(canonical, before);
        known = ring;
    }
    if (rings_.size() >= sweep_at_) {
        std::erase_if(rings_, [](const auto& entry) { return entry.second.expired(); });
        sweep_at_ = std::max<std::size_t>(64, 2 * rings_.size());
    }
    return ring;
}

}  // namespace exa::ring
