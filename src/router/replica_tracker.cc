#include "router/replica_tracker.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/hash.h"

namespace exa::router {

namespace {

// A peer that reports nonsense must not drown the mean of its pool.
constexpr std::uint32_t in_flight_max = 1'000'000;

std::uint64_t numerics_hash(std::string_view numerics) {
    return numerics.empty() ? 0 : std::max<std::uint64_t>(hash64(as_bytes(numerics)), 1);
}

Distance distance_of(const wire::PeerRecord* self, const wire::PeerRecord& peer) {
    if (self == nullptr || self->region != peer.region) return Distance::far;
    return self->rack == peer.rack ? Distance::rack : Distance::region;
}

std::uint32_t divide_up(std::uint64_t dividend, std::uint64_t divisor) {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>((dividend + divisor - 1) / divisor, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

std::string_view to_string(Eligibility eligibility) {
    switch (eligibility) {
        case Eligibility::good:
            return "good";
        case Eligibility::above_bound:
            return "above_bound";
        case Eligibility::looks_full:
            return "looks_full";
        case Eligibility::suspect:
            return "suspect";
        case Eligibility::full:
            return "full";
        case Eligibility::draining:
            return "draining";
        case Eligibility::link_broken:
            return "link_broken";
        case Eligibility::refused:
            return "refused";
        case Eligibility::breaker_open:
            return "breaker_open";
    }
    return "unknown";
}

std::string_view to_string(Distance distance) {
    switch (distance) {
        case Distance::rack:
            return "rack";
        case Distance::region:
            return "region";
        case Distance::far:
            return "far";
    }
    return "unknown";
}

ReplicaTracker::ReplicaTracker(const Config& config) : config_(config) {}

std::uint32_t ReplicaTracker::Slot::load_if(std::uint32_t own_counted) const {
    const std::uint32_t expected = reported + own;
    return std::max(own, expected > own_counted ? expected - own_counted : 0);
}

LoadFactors ReplicaTracker::Slot::factors() const {
    return {load(), std::max(queued_tokens, own_tokens), kv_used_permille, tbt_p99_ms};
}

template <class Change>
void ReplicaTracker::update(Slot& slot, Change&& change) {
    PoolSum& sum = pools_[slot.pool];
    sum.load_score -= slot.load_score;
    change();
    slot.load_score = load_score_of(slot.factors());
    sum.load_score += slot.load_score;
}

std::vector<std::uint32_t> ReplicaTracker::handle_view(const RoutingView& view) {
    std::vector<std::uint32_t> moved;
    if (layout_ != view.layout()) {
        moved = adopt_layout(view);
        // Slots that are new know nothing of loads that were adopted for others.
        loads_ = {};
    }
    // Most peers' loads are those of the view before: only the others are looked at. Both lists are sorted by peer.
    const membership::LoadList& loads = view.loads();
    std::size_t last = 0;
    for (std::size_t s = 0; s < loads.shelves().size(); ++s) {
        const auto& shelf = loads.shelves()[s];
        if (last == s * membership::LoadList::shelf_peers && s < loads_.shelves().size() &&
            loads_.shelves()[s] == shelf) {
            last += shelf->size();
            continue;
        }
        for (const auto& of_peer : *shelf) {
            if (last < loads_.size() && loads_[last] == of_peer) {
                ++last;
                continue;
            }
            adopt_loads(*of_peer);
            while (last < loads_.size() && loads_[last]->peer <= of_peer->peer) ++last;
        }
    }
    loads_ = loads;
    return moved;
}

void ReplicaTracker::adopt_loads(const membership::PeerLoads& loads) {
    auto entry = loads.entries.begin();
    for (const RoutingView::Layout::Place& place : layout_->places_of(loads.peer)) {
        while (entry != loads.entries.end() && entry->report.replica < place.id) ++entry;
        if (entry == loads.entries.end()) return;
        if (entry->report.replica == place.id) adopt(place.replica, entry->report, entry->measured, false);
    }
}

std::vector<std::uint32_t> ReplicaTracker::adopt_layout(const RoutingView& view) {
    const std::vector<Slot> before = std::move(slots_);
    const auto old_layout = std::move(layout_);
    layout_ = view.layout();
    slots_.assign(layout_->replicas.size(), {});
    std::vector<std::uint32_t> moved(before.size(), no_slot);
    for (const Pool& old_pool : old_layout ? std::span(old_layout->pools) : std::span<const Pool>()) {
        const auto pool = std::ranges::find(layout_->pools, old_pool.hash, &Pool::hash);
        if (pool == layout_->pools.end()) continue;
        for (std::uint32_t old_slot = old_pool.first; old_slot < old_pool.first + old_pool.count; ++old_slot) {
            const auto member = pool->ring->find(before[old_slot].id);
            if (!member) continue;
            moved[old_slot] = pool->first + *member;
            slots_[moved[old_slot]] = before[old_slot];
        }
    }

    const wire::PeerRecord* self = nullptr;
    for (const auto& member : layout_->members)
        if (member->record->id == view.self()) self = member->record.get();
    pools_.assign(layout_->pools.size(), {});
    for (std::uint32_t p = 0; p < pools_.size(); ++p) {
        const Pool& pool = layout_->pools[p];
        pools_[p].weight = pool.weight_sum;
        std::uint32_t joined = 0;
        for (std::uint32_t member = 0; member < pool.count; ++member) {
            Slot& slot = slots_[pool.first + member];
            const ReplicaEntry& entry = layout_->replicas[pool.first + member];
            if (!slot.was_seen) ++joined;
            slot.id = entry.record->id;
            slot.distance = distance_of(self, *entry.member->record);
            slot.pool = p;
            slot.weight = pool.ring->members()[member].weight;
            if (std::exchange(slot.limit_recorded, entry.record->in_flight_limit) != entry.record->in_flight_limit)
                slot.limit = entry.record->in_flight_limit;
            slot.context_tokens = entry.record->context_tokens;
            slot.numerics = numerics_hash(entry.record->numerics);
            slot.suspect = entry.suspect;
            slot.draining = entry.draining;
            slot.local = entry.local;
            slot.link = entry.member->record->link;
            pools_[p].load_score += slot.load_score;
        }
        mark_new(pool, old_layout != nullptr ? joined : pool.count);
    }
    std::erase_if(broken_, [&](const BrokenPeer& broken) {
        return std::ranges::none_of(slots_, [&](const Slot& slot) { return slot.id.peer == broken.peer; });
    });
    for (const BrokenPeer& broken : broken_) hold_peer(broken);
    return moved;
}

// A pool most of which is new has nobody else to serve it.
void ReplicaTracker::mark_new(const Pool& pool, std::uint32_t joined) {
    const bool are_few = joined * 2 < pool.count;
    for (std::uint32_t at = pool.first; at < pool.first + pool.count; ++at) {
        Slot& slot = slots_[at];
        slot.is_new = are_few && (slot.is_new || !slot.was_seen);
        slot.was_seen = true;
        has_unseen_ = has_unseen_ || (slot.is_new && !slot.since);
    }
}

void ReplicaTracker::handle_time(TimePoint now) {
    if (!std::exchange(has_unseen_, false)) return;
    for (Slot& slot : slots_)
        if (slot.is_new && !slot.since) slot.since = now;
}

std::uint32_t ReplicaTracker::share_permille(TimePoint now, std::uint32_t at) const {
    const Slot& slot = slots_[at];
    if (!slot.is_new) return 1000;
    const Duration age = slot.since ? now - *slot.since : Duration::zero();
    if (age >= config_.slow_start) return 1000;
    return std::max(100U, static_cast<std::uint32_t>(age.count() * 1000 / config_.slow_start.count()));
}

std::uint64_t ReplicaTracker::projected_load(TimePoint now, std::uint32_t at) const {
    const Slot& slot = slots_[at];
    // Limits are 16 bits on the wire, weights small: no step of this overflows.
    std::uint64_t projected_load = std::uint64_t{slot.load_score + load_score_of_request} << 24;
    if (slot.is_new) projected_load = projected_load * 1000 / share_permille(now, at);
    projected_load /= slot.weight;
    return slot.limit > 0 ? projected_load / slot.limit : projected_load;
}

void ReplicaTracker::adopt(std::uint32_t at, const wire::LoadReport& report, TimePoint measured, bool exact) {
    Slot& slot = slots_[at];
    if (slot.measured && measured <= *slot.measured) return;
    update(slot, [&] {
        slot.reported = std::min(report.in_flight, in_flight_max);
        slot.queued = report.queued;
        slot.queued_tokens = report.queued_tokens;
        slot.kv_used_permille = report.kv_used_permille;
        slot.tbt_p99_ms = report.tbt_p99_ms;
        slot.limit = report.in_flight_limit > 0 ? report.in_flight_limit : slot.limit_recorded;
        slot.counted_least = exact ? slot.own : slot.own_least;
        slot.counted_most = exact ? slot.own : slot.own_most;
        slot.own_least = slot.own_most = slot.own;
        slot.measured = measured;
    });
}

std::uint32_t ReplicaTracker::bound(std::uint32_t slot) const {
    const PoolSum& pool = pools_[slots_[slot].pool];
    return std::max(config_.load_floor, divide_up((pool.load_score + load_score_of_request) * slots_[slot].weight *
                                                      config_.load_factor_percent,
                                                  pool.weight * load_score_of_request * 100));
}

std::uint32_t ReplicaTracker::mean(std::uint32_t slot) const {
    const PoolSum& pool = pools_[slots_[slot].pool];
    return divide_up(pool.load_score * slots_[slot].weight, pool.weight * load_score_of_request);
}

Eligibility ReplicaTracker::eligibility(TimePoint now, std::uint32_t at) const {
    const Slot& slot = slots_[at];
    if (slot.draining) return Eligibility::draining;
    if (now < slot.link_until) return Eligibility::link_broken;
    if (now < slot.refused_until) return Eligibility::refused;
    if (!slot.breaker.allows(now)) return Eligibility::breaker_open;
    if (now < slot.full_until) return Eligibility::full;
    const std::uint32_t load = slot.load();
    const bool looks_full = slot.limit > 0 && load >= slot.limit;
    if (looks_full) {
        const bool fresh = slot.measured && now - *slot.measured < config_.load_fresh;
        if (slot.own >= slot.limit || (fresh && slot.load_low() >= slot.limit)) return Eligibility::full;
    }
    if (slot.suspect) return Eligibility::suspect;
    if (looks_full) return Eligibility::looks_full;
    // The bound costs a division and is never below the floor.
    if (slot.is_new) {
        const std::uint64_t share = std::uint64_t{bound(at)} * load_score_of_request * share_permille(now, at) / 1000;
        if (slot.load_score >= std::max<std::uint64_t>(share, load_score_of_request)) return Eligibility::above_bound;
    } else if (slot.load_score >= config_.load_floor * load_score_of_request &&
               slot.load_score >= std::uint64_t{bound(at)} * load_score_of_request) {
        return Eligibility::above_bound;
    }
    return Eligibility::good;
}

bool ReplicaTracker::start(TimePoint now, std::uint32_t at, bool waits, std::uint32_t prompt_tokens) {
    Slot& slot = slots_[at];
    if (waits) ++slot.queued;
    update(slot, [&] {
        ++slot.own;
        slot.own_tokens += prompt_tokens;
        slot.own_most = std::max(slot.own_most, slot.own);
    });
    if (slot.link_doubted) {
        const auto broken = std::ranges::find(broken_, slot.id.peer, &BrokenPeer::peer);
        EXA_CHECK(broken != broken_.end());
        broken->probing = true;
        broken->until = now + broken->backoff;
        hold_peer(*broken);
    }
    return slot.breaker.start();
}

void ReplicaTracker::end(TimePoint now, std::uint32_t at, Verdict verdict, bool probe, std::uint32_t prompt_tokens) {
    Slot& slot = slots_[at];
    EXA_CHECK(slot.own > 0);
    update(slot, [&] {
        --slot.own;
        slot.own_tokens -= prompt_tokens;
        slot.own_least = std::min(slot.own_least, slot.own);
    });
    slot.full_until = TimePoint{};
    switch (verdict) {
        case Verdict::none:
            slot.breaker.release(probe);
            break;
        case Verdict::good:
            slot.breaker.succeed();
            break;
        case Verdict::bad:
            slot.breaker.fail(now, config_.breaker());
            break;
    }
}

void ReplicaTracker::answered(std::uint32_t at, std::uint32_t prompt_tokens) {
    if (prompt_tokens > 0) update(slots_[at], [&] { slots_[at].own_tokens -= prompt_tokens; });
    slots_[at].breaker.answer();
    handle_slot_ok(at);
}

void ReplicaTracker::handle_busy(TimePoint now, std::uint32_t at) {
    slots_[at].full_until = now + config_.load_fresh;
}

void ReplicaTracker::handle_refused(TimePoint now, std::uint32_t at) {
    slots_[at].refused_until = now + config_.refused_backoff;
}

void ReplicaTracker::handle_load(TimePoint now, std::uint32_t at, const wire::LoadReport& load) {
    adopt(at, load, now - std::max(load.age, Duration::zero()), load.age == Duration::zero());
}

void ReplicaTracker::handle_peer_broken(TimePoint now, PeerId peer) {
    auto broken = std::ranges::find(broken_, peer, &BrokenPeer::peer);
    if (broken == broken_.end()) {
        broken_.push_back({peer, config_.peer_backoff, now + config_.peer_backoff, false});
        broken = broken_.end() - 1;
    } else if (broken->probing || now >= broken->until) {
        broken->backoff = std::min(broken->backoff * 2, config_.peer_backoff_max);
        broken->until = now + broken->backoff;
        broken->probing = false;
    }
    hold_peer(*broken);
}

void ReplicaTracker::handle_peer_ok(PeerId peer) {
    if (std::erase_if(broken_, [&](const BrokenPeer& broken) { return broken.peer == peer; }) == 0) return;
    for (Slot& slot : slots_) {
        if (slot.id.peer != peer) continue;
        slot.link_until = TimePoint{};
        slot.link_doubted = false;
    }
}

void ReplicaTracker::handle_slot_ok(std::uint32_t at) {
    if (slots_[at].link_doubted) handle_peer_ok(slots_[at].id.peer);
}

void ReplicaTracker::hold_peer(const BrokenPeer& broken) {
    for (Slot& slot : slots_) {
        if (slot.id.peer != broken.peer) continue;
        slot.link_until = broken.until;
        slot.link_doubted = true;
    }
}

}  // namespace exa::router
