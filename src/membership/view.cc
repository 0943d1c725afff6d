#include "membership/view.h"

#include <algorithm>
#include <ranges>

namespace exa::membership {

void LoadList::push_back(std::shared_ptr<const PeerLoads> loads) {
    Chunk last;
    if (!chunks_.empty() && chunks_.back()->size() < chunk_peers) {
        last = *chunks_.back();
        chunks_.pop_back();
    }
    last.push_back(std::move(loads));
    chunks_.push_back(std::make_shared<const Chunk>(std::move(last)));
}

const Member* View::find(PeerId id) const {
    const auto at = std::ranges::lower_bound(members, id, {}, [](const auto& member) { return member->record->id; });
    return at != members.end() && (*at)->record->id == id ? at->get() : nullptr;
}

const LoadEntry* View::find_load(const ReplicaId& id) const {
    const auto places = std::views::iota(std::size_t{0}, loads.size());
    const auto place = std::ranges::lower_bound(places, id.peer, {}, [&](std::size_t i) { return loads[i]->peer; });
    if (place == places.end() || loads[*place]->peer != id.peer) return nullptr;
    const std::vector<LoadEntry>& entries = loads[*place]->entries;
    const auto at = std::ranges::lower_bound(entries, id, {}, [](const auto& entry) { return entry.report.replica; });
    return at != entries.end() && at->report.replica == id ? &*at : nullptr;
}

}  // namespace exa::membership
