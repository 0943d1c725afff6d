#include "node/kv_placement.h"

#include <utility>
#include <vector>

#include "base/hash.h"

namespace exa::node {

kv::Placement kv_placement(const membership::View& view, std::size_t copies) {
    using membership::Liveness;
    std::vector<kv::Holder> holders;
    holders.reserve(view.members.size());
    for (const auto& member : view.members) {
        const wire::PeerRecord& record = *member->record;
        const bool stays = record.state == wire::PeerState::starting || record.state == wire::PeerState::serving;
        if (!stays || member->liveness == Liveness::lost || member->liveness == Liveness::left) continue;
        holders.push_back(
            {record.id, hash64(as_bytes(record.rack)), record.kv_gib, member->liveness != Liveness::dead});
    }
    return {std::move(holders), copies};
}

}  // namespace exa::node
