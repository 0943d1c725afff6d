#include "router/routing_view.h"

#include <algorithm>
#include <map>

#include "base/check.h"

namespace exa::router {

namespace {

using membership::Liveness;
using membership::Member;

bool is_routable(const Member& member, const wire::ReplicaRecord& replica) {
    return replica.state == wire::ReplicaState::ready && replica.weight > 0 &&
           (member.liveness == Liveness::alive || member.liveness == Liveness::suspect);
}

// A model whose replicas load, drain or sit on a peer that is down for the moment is known: the answer is "not now",
// not "no such model". A peer speaks only for replicas of its own.
bool is_known(const Member& member, const wire::ReplicaRecord& replica) {
    return replica.id.peer == member.record->id && member.liveness != Liveness::lost &&
           member.liveness != Liveness::left && replica.state != wire::ReplicaState::stopped;
}

ReplicaEntry make_entry(const std::shared_ptr<const Member>& member, const wire::ReplicaRecord& record, PeerId self) {
    const wire::PeerState state = member->record->state;
    return {.member = member,
            .record = &record,
            .suspect = member->liveness == Liveness::suspect,
            .draining = state == wire::PeerState::draining || state == wire::PeerState::leaving,
            .local = member->record->id == self};
}

std::shared_ptr<const ring::Ring> make_ring(std::span<const ring::RingMember> members, std::uint64_t pool_hash,
                                            const RoutingView* before, ring::RingPool* rings) {
    const Pool* pool = before != nullptr ? before->find_pool(pool_hash) : nullptr;
    const ring::Ring* last = pool != nullptr ? pool->ring.get() : nullptr;
    if (last != nullptr && std::ranges::equal(last->members(), ring::canonical_members(members))) return pool->ring;
    return rings != nullptr ? rings->get(members, last) : std::make_shared<const ring::Ring>(members, last);
}

// A pool while it is gathered.
struct Gathered {
    std::vector<ReplicaEntry> entries;
    bool all_drain = true;
};

// `entries` are of one pool. Ids may repeat only if a peer's record is malformed; the ring then keeps one, and so do
// we.
void add_pool(RoutingView::Layout& layout, ring::PoolKey key, Gathered gathered, const RoutingView* before,
              ring::RingPool* rings) {
    std::vector<ReplicaEntry>& entries = gathered.entries;
    const auto before_by_id = [](const ReplicaEntry& a, const ReplicaEntry& b) {
        return a.record->id != b.record->id ? a.record->id < b.record->id : a.record->weight > b.record->weight;
    };
    if (!std::ranges::is_sorted(entries, before_by_id)) std::ranges::sort(entries, before_by_id);
    const auto repeats = std::ranges::unique(entries, {}, [](const ReplicaEntry& entry) { return entry.record->id; });
    entries.erase(repeats.begin(), repeats.end());

    Pool pool;
    pool.hash = pool_hash(key);
    pool.key = std::move(key);
    pool.first = static_cast<std::uint32_t>(layout.replicas.size());
    pool.count = static_cast<std::uint32_t>(entries.size());
    pool.all_drain = gathered.all_drain;
    pool.all_local = std::ranges::all_of(entries, &ReplicaEntry::local);
    bool all_tell = true;
    std::vector<ring::RingMember> members;
    for (const ReplicaEntry& entry : entries) {
        members.push_back({entry.record->id, entry.record->weight});
        pool.context_tokens_max = std::max(pool.context_tokens_max, entry.record->context_tokens);
        all_tell = all_tell && entry.record->context_tokens > 0;
    }
    if (!all_tell) pool.context_tokens_max = 0;
    pool.ring = make_ring(members, pool.hash, before, rings);
    EXA_CHECK(pool.ring->size() == pool.count);
    for (const ring::RingMember& member : pool.ring->members()) pool.weight_sum += member.weight;
    std::ranges::move(entries, std::back_inserter(layout.replicas));
    layout.pools.push_back(std::move(pool));
}

bool is_key_of(const ring::PoolKey& key, const wire::ReplicaRecord& record) {
    return key.model == record.model && key.role == record.role && key.tenant_pool == record.tenant_pool &&
           key.version == record.version;
}

std::shared_ptr<const RoutingView::Layout> make_layout(const membership::View& view, const RoutingView* before,
                                                       ring::RingPool* rings) {
    using Pools = std::map<ring::PoolKey, Gathered>;
    Pools pools;
    // Neighbours in a record, and in records of peers of one deployment, nearly always share their pool.
    Pools::iterator last = pools.end();
    for (const auto& member : view.members) {
        for (const wire::ReplicaRecord& record : member->record->replicas) {
            if (!is_known(*member, record)) continue;
            if (last == pools.end() || !is_key_of(last->first, record))
                last = pools.try_emplace({record.model, record.role, record.tenant_pool, record.version}).first;
            if (record.state != wire::ReplicaState::draining) last->second.all_drain = false;
            if (is_routable(*member, record)) last->second.entries.push_back(make_entry(member, record, view.self));
        }
    }
    auto layout = std::make_shared<RoutingView::Layout>();
    layout->members = view.members;
    for (auto& [key, gathered] : pools) add_pool(*layout, key, std::move(gathered), before, rings);
    layout->by_id.reserve(layout->replicas.size());
    for (std::uint32_t at = 0; at < layout->replicas.size(); ++at)
        layout->by_id.push_back({layout->replicas[at].record->id, at});
    if (pools.size() > 1) std::ranges::sort(layout->by_id, {}, &RoutingView::Layout::IndexedId::id);
    return layout;
}

}  // namespace

std::span<const RoutingView::Layout::IndexedId> RoutingView::Layout::replicas_of(PeerId peer) const {
    const auto range =
        std::ranges::equal_range(by_id, peer, {}, [](const IndexedId& indexed) { return indexed.id.peer; });
    return {range.begin(), range.end()};
}

std::shared_ptr<const RoutingView> RoutingView::build(std::shared_ptr<const membership::View> view,
                                                      const RoutingView* before, ring::RingPool* rings) {
    EXA_CHECK(view != nullptr);
    auto built = std::make_shared<RoutingView>();
    const bool same = before != nullptr && before->self() == view->self && before->layout_->members == view->members;
    built->layout_ = same ? before->layout_ : make_layout(*view, before, rings);
    built->view_ = std::move(view);
    return built;
}

void RoutingView::draw_rings() const {
    for (const Pool& pool : layout_->pools)
        if (!pool.ring->empty()) pool.ring->draw();
}

std::span<const Pool> RoutingView::pools_of(std::string_view model) const {
    const auto range = std::ranges::equal_range(layout_->pools, model, {},
                                                [](const Pool& pool) -> std::string_view { return pool.key.model; });
    return {range.begin(), range.end()};
}

const membership::Member* RoutingView::find_member(PeerId peer) const {
    const membership::MemberList& members = layout_->members;
    const auto at = std::ranges::lower_bound(members.begin(), members.end(), peer, {},
                                             [](const auto& member) { return member->record->id; });
    return at == members.end() || (*at)->record->id != peer ? nullptr : at->get();
}

const Pool* RoutingView::find_pool(std::uint64_t hash) const {
    const auto at = std::ranges::find(layout_->pools, hash, &Pool::hash);
    return at == layout_->pools.end() ? nullptr : &*at;
}

}  // namespace exa::router
