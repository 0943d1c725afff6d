#include "membership/view.h"

#include <algorithm>

namespace exa::membership {

const Member* View::find(PeerId id) const {
    const auto at = std::ranges::lower_bound(members, id, {}, [](const auto& member) { return member->record->id; });
    return at != members.end() && (*at)->record->id == id ? at->get() : nullptr;
}

const LoadEntry* View::find_load(const ReplicaId& id) const {
    const auto of_peer = std::ranges::lower_bound(loads, id.peer, {}, [](const auto& group) { return group->peer; });
    if (of_peer == loads.end() || (*of_peer)->peer != id.peer) return nullptr;
    const std::vector<LoadEntry>& entries = (*of_peer)->entries;
    const auto at = std::ranges::lower_bound(entries, id, {}, [](const auto& entry) { return entry.report.replica; });
    return at != entries.end() && at->report.replica == id ? &*at : nullptr;
}

}  // namespace exa::membership
