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
    return replica.id.peer == member.record.id && member.liveness != Liveness::lost &&
           member.liveness != Liveness::left && replica.state != wire::ReplicaState::stopped;
}

ReplicaEntry make_entry(const std::shared_ptr<const Member>& member, const wire::ReplicaRecord& record, PeerId self) {
    const wire::PeerState state = member->record.state;
    return {.member = member,
            .record = &record,
            .suspect = member->liveness == Liveness::suspect,
            .draining = state == wire::PeerState::draining || state == wire::PeerState::leaving,
            .local = member->record.id == self};
}

std::shared_ptr<const ring::Ring> make_ring(std::span<const ring::RingMember> members, std::uint64_t pool_hash,
                                            const RoutingView* before) {
    if (before != nullptr) {
        const Pool* pool = before->find_pool(pool_hash);
        if (pool != nullptr && pool->ring->digest() == ring::members_digest(ring::canonical_members(members)))
            return pool->ring;
    }
    return std::make_shared<const ring::Ring>(ring::Ring::build(members));
}

// `entries` are of one pool. Ids may repeat only if a peer's record is malformed; the ring then keeps one, and so do
// we.
void add_pool(RoutingView::Layout& layout, ring::PoolKey key, std::vector<ReplicaEntry> entries,
              const RoutingView* before) {
    std::ranges::sort(entries, [](const ReplicaEntry& a, const ReplicaEntry& b) {
        return a.record->id != b.record->id ? a.record->id < b.record->id : a.record->weight > b.record->weight;
    });
    const auto repeats = std::ranges::unique(entries, {}, [](const ReplicaEntry& entry) { return entry.record->id; });
    entries.erase(repeats.begin(), repeats.end());

    Pool pool;
    pool.hash = pool_hash(key);
    pool.key = std::move(key);
    pool.first = static_cast<std::uint32_t>(layout.replicas.size());
    pool.count = static_cast<std::uint32_t>(entries.size());
    bool all_tell = true;
    std::vector<ring::RingMember> members;
    for (const ReplicaEntry& entry : entries) {
        members.push_back({entry.record->id, entry.record->weight});
        pool.context_tokens_max = std::max(pool.context_tokens_max, entry.record->context_tokens);
        all_tell = all_tell && entry.record->context_tokens > 0;
    }
    if (!all_tell) pool.context_tokens_max = 0;
    pool.ring = make_ring(members, pool.hash, before);
    EXA_CHECK(pool.ring->size() == pool.count);
    for (const ring::RingMember& member : pool.ring->members()) pool.weight_sum += member.weight;
    std::ranges::move(entries, std::back_inserter(layout.replicas));
    layout.pools.push_back(std::move(pool));
}

std::shared_ptr<const RoutingView::Layout> make_layout(const membership::View& view, const RoutingView* before) {
    std::map<ring::PoolKey, std::vector<ReplicaEntry>> pools;
    for (const auto& member : view.members) {
        for (const wire::ReplicaRecord& record : member->record.replicas) {
            if (!is_known(*member, record)) continue;
            auto& entries = pools[{record.model, record.role, record.tenant_pool, record.version}];
            if (is_routable(*member, record)) entries.push_back(make_entry(member, record, view.self));
        }
    }
    auto layout = std::make_shared<RoutingView::Layout>();
    layout->members = view.members;
    for (auto& [key, entries] : pools) add_pool(*layout, key, std::move(entries), before);
    return layout;
}

}  // namespace

std::shared_ptr<const RoutingView> RoutingView::build(const membership::View& view, const RoutingView* before) {
    auto built = std::make_shared<RoutingView>();
    built->number_ = view.number;
    built->self_ = view.self;
    const bool same = before != nullptr && before->self_ == view.self && before->layout_->members == view.members;
    built->layout_ = same ? before->layout_ : make_layout(view, before);
    built->loads_.reserve(built->layout_->replicas.size());
    for (const ReplicaEntry& entry : built->layout_->replicas) {
        const membership::LoadEntry* load = view.find_load(entry.record->id);
        if (load == nullptr)
            built->loads_.emplace_back();
        else
            built->loads_.push_back(
                {load->report.in_flight, load->report.queued_tokens, load->report.kv_used_permille, load->measured});
    }
    return built;
}

std::span<const Pool> RoutingView::pools_of(std::string_view model) const {
    const auto range = std::ranges::equal_range(layout_->pools, model, {},
                                                [](const Pool& pool) -> std::string_view { return pool.key.model; });
    return {range.begin(), range.end()};
}

const Pool* RoutingView::find_pool(std::uint64_t hash) const {
    const auto at = std::ranges::find(layout_->pools, hash, &Pool::hash);
    return at == layout_->pools.end() ? nullptr : &*at;
}

}  // namespace exa::router
