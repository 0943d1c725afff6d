#include "kv/placement.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"

namespace exa::kv {

Placement::Placement(std::vector<Holder> holders, std::size_t copies) : holders_(std::move(holders)), copies_(copies) {
    std::erase_if(holders_, [](const Holder& holder) { return holder.weight == 0; });
    std::ranges::sort(holders_, {}, &Holder::id);
    candidates_.reserve(holders_.size());
    digest_ = hash64(copies_, 0);
    for (const Holder& holder : holders_) {
        candidates_.push_back({holder.id.value, holder.weight, holder.rack});
        digest_ = hash64(digest_, hash64(holder.id.value, holder.rack, holder.weight));
    }
}

std::vector<PeerId> Placement::owners(const SegmentKey& key) const {
    std::vector<PeerId> owners;
    for (const std::uint32_t at : ring::choose_owners(placement(key), candidates_, copies_))
        owners.push_back(holders_[at].id);
    return owners;
}

bool Placement::owns(PeerId peer, const SegmentKey& key) const {
    const std::vector<PeerId> all = owners(key);
    return std::ranges::find(all, peer) != all.end();
}

bool Placement::reachable(PeerId peer) const {
    const auto at = std::ranges::lower_bound(holders_, peer, {}, &Holder::id);
    return at != holders_.end() && at->id == peer && at->reachable;
}

}  // namespace exa::kv
