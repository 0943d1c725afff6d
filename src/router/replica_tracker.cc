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

std::uint32_t ReplicaTracker::InFlight::estimate(std::uint32_t own_reported) const {
    const std::uint32_t expected = reported + own;
    return std::max(own, expected > own_reported ? expected - own_reported : 0);
}

LoadFactors ReplicaTracker::Replica::factors() const {
    return {in_flight.high(), std::max(report.queued_tokens, own_tokens), report.kv_used_permille, report.tbt_p99_ms};
}

template <class Change>
void ReplicaTracker::update(Replica& replica, Change&& change) {
    PoolSum& sum = pools_[replica.pool];
    sum.load_score -= replica.load_score;
    change();
    replica.load_score = load_score_of(replica.factors());
    sum.load_score += replica.load_score;
}

std::vector<std::uint32_t> ReplicaTracker::handle_view(const RoutingView& view) {
    std::vector<std::uint32_t> moved;
    is_cut_off_ = view.is_cut_off();
    if (layout_ != view.layout()) {
        moved = adopt_layout(view);
        // Replicas that are new know nothing of loads that were adopted for others.
        loads_ = {};
    }
    // Most peers' loads are those of the view before: only the others are looked at. Both lists are sorted by peer.
    const membership::LoadList& loads = view.loads();
    std::size_t last = 0;
    for (std::size_t s = 0; s < loads.chunks().size(); ++s) {
        const auto& chunk = loads.chunks()[s];
        if (last == s * membership::LoadList::chunk_peers && s < loads_.chunks().size() &&
            loads_.chunks()[s] == chunk) {
            last += chunk->size();
            continue;
        }
        for (const auto& of_peer : *chunk) {
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
    for (const RoutingView::Layout::IndexedId& indexed : layout_->replicas_of(loads.peer)) {
        while (entry != loads.entries.end() && entry->report.replica < indexed.id) ++entry;
        if (entry == loads.entries.end()) return;
        if (entry->report.replica == indexed.id) adopt(indexed.index, entry->report, entry->measured, false);
    }
}

std::vector<std::uint32_t> ReplicaTracker::adopt_layout(const RoutingView& view) {
    const std::vector<Replica> before = std::move(replicas_);
    const auto old_layout = std::move(layout_);
    layout_ = view.layout();
    replicas_.assign(layout_->replicas.size(), {});
    std::vector<std::uint32_t> moved(before.size(), no_replica);
    for (const Pool& old_pool : old_layout ? std::span(old_layout->pools) : std::span<const Pool>()) {
        const auto pool = std::ranges::find(layout_->pools, old_pool.hash, &Pool::hash);
        if (pool == layout_->pools.end()) continue;
        for (std::uint32_t old_index = old_pool.first; old_index < old_pool.first + old_pool.count; ++old_index) {
            const auto member = pool->ring->find(before[old_index].profile.id);
            if (!member) continue;
            moved[old_index] = pool->first + *member;
            replicas_[moved[old_index]] = before[old_index];
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
            Replica& replica = replicas_[pool.first + member];
            const ReplicaEntry& entry = layout_->replicas[pool.first + member];
            if (!replica.was_seen) ++joined;
            replica.profile.id = entry.record->id;
            replica.distance = distance_of(self, *entry.member->record);
            replica.pool = p;
            replica.weight = pool.ring->members()[member].weight;
            if (std::exchange(replica.profile.limit_recorded, entry.record->in_flight_limit) !=
                entry.record->in_flight_limit)
                replica.limit = entry.record->in_flight_limit;
            replica.profile.context_tokens = entry.record->context_tokens;
            replica.profile.numerics = numerics_hash(entry.record->numerics);
            replica.suspect = entry.suspect;
            replica.draining = entry.draining;
            replica.local = entry.local;
            replica.profile.link = entry.member->record->link;
            pools_[p].load_score += replica.load_score;
        }
        begin_slow_start(pool, old_layout != nullptr ? joined : pool.count);
    }
    std::erase_if(broken_, [&](const BrokenPeer& broken) {
        return std::ranges::none_of(replicas_,
                                    [&](const Replica& replica) { return replica.profile.id.peer == broken.peer; });
    });
    for (const BrokenPeer& broken : broken_) back_off(broken);
    return moved;
}

// A pool most of which is new has nobody else to serve it.
void ReplicaTracker::begin_slow_start(const Pool& pool, std::uint32_t joined) {
    const bool are_few = joined * 2 < pool.count;
    for (std::uint32_t at = pool.first; at < pool.first + pool.count; ++at) {
        Replica& replica = replicas_[at];
        replica.in_slow_start = are_few && (replica.in_slow_start || !replica.was_seen);
        replica.was_seen = true;
        has_undated_ = has_undated_ || (replica.in_slow_start && !replica.slow_start_since);
    }
}

void ReplicaTracker::handle_time(TimePoint now) {
    if (!std::exchange(has_undated_, false)) return;
    for (Replica& replica : replicas_)
        if (replica.in_slow_start && !replica.slow_start_since) replica.slow_start_since = now;
}

std::uint32_t ReplicaTracker::share_permille(TimePoint now, std::uint32_t at) const {
    const Replica& replica = replicas_[at];
    if (!replica.in_slow_start) return 1000;
    const Duration age = replica.slow_start_since ? now - *replica.slow_start_since : Duration::zero();
    if (age >= config_.slow_start) return 1000;
    return std::max(100U, static_cast<std::uint32_t>(age.count() * 1000 / config_.slow_start.count()));
}

std::uint64_t ReplicaTracker::projected_load(TimePoint now, std::uint32_t at) const {
    const Replica& replica = replicas_[at];
    // Limits are 16 bits on the wire, weights small: no step of this overflows.
    std::uint64_t projected_load = std::uint64_t{replica.load_score + load_score_of_request} << 24;
    if (replica.in_slow_start) projected_load = projected_load * 1000 / share_permille(now, at);
    projected_load /= replica.weight;
    return replica.limit > 0 ? projected_load / replica.limit : projected_load;
}

void ReplicaTracker::adopt(std::uint32_t at, const wire::LoadReport& report, TimePoint measured, bool exact) {
    Replica& replica = replicas_[at];
    if (replica.report.measured && measured <= *replica.report.measured) return;
    update(replica, [&] {
        replica.in_flight.reported = std::min(report.in_flight, in_flight_max);
        replica.report.queued = report.queued;
        replica.report.queued_tokens = report.queued_tokens;
        replica.report.kv_used_permille = report.kv_used_permille;
        replica.report.tbt_p99_ms = report.tbt_p99_ms;
        replica.limit = report.in_flight_limit > 0 ? report.in_flight_limit : replica.profile.limit_recorded;
        replica.in_flight.own_reported_min = exact ? replica.in_flight.own : replica.own_since_min;
        replica.in_flight.own_reported_max = exact ? replica.in_flight.own : replica.own_since_max;
        replica.own_since_min = replica.own_since_max = replica.in_flight.own;
        replica.report.measured = measured;
    });
}

std::uint32_t ReplicaTracker::bound(std::uint32_t replica) const {
    const PoolSum& pool = pools_[replicas_[replica].pool];
    return std::max(config_.load_floor, divide_up((pool.load_score + load_score_of_request) *
                                                      replicas_[replica].weight * config_.load_factor_percent,
                                                  pool.weight * load_score_of_request * 100));
}

std::uint32_t ReplicaTracker::mean(std::uint32_t replica) const {
    const PoolSum& pool = pools_[replicas_[replica].pool];
    return divide_up(pool.load_score * replicas_[replica].weight, pool.weight * load_score_of_request);
}

Eligibility ReplicaTracker::eligibility(TimePoint now, std::uint32_t at) const {
    const Replica& replica = replicas_[at];
    if (replica.draining) return Eligibility::draining;
    if (now < replica.backoff.link_until) return Eligibility::link_broken;
    if (now < replica.backoff.refused_until) return Eligibility::refused;
    if (!replica.breaker.allows(now)) return Eligibility::breaker_open;
    if (now < replica.backoff.full_until) return Eligibility::full;
    const std::uint32_t load = replica.in_flight.high();
    const bool looks_full = replica.limit > 0 && load >= replica.limit;
    if (looks_full) {
        const bool fresh = replica.report.measured && now - *replica.report.measured < config_.load_fresh;
        if (replica.in_flight.own >= replica.limit || (fresh && replica.in_flight.low() >= replica.limit))
            return Eligibility::full;
    }
    if (is_suspect(at)) return Eligibility::suspect;
    if (looks_full) return Eligibility::looks_full;
    // The bound costs a division and is never below the floor.
    if (replica.in_slow_start) {
        const std::uint64_t share = std::uint64_t{bound(at)} * load_score_of_request * share_permille(now, at) / 1000;
        if (replica.load_score >= std::max<std::uint64_t>(share, load_score_of_request))
            return Eligibility::above_bound;
    } else if (replica.load_score >= config_.load_floor * load_score_of_request &&
               replica.load_score >= std::uint64_t{bound(at)} * load_score_of_request) {
        return Eligibility::above_bound;
    }
    return Eligibility::good;
}

bool ReplicaTracker::start(TimePoint now, std::uint32_t at, bool waits, std::uint32_t prompt_tokens) {
    Replica& replica = replicas_[at];
    if (waits) ++replica.report.queued;
    update(replica, [&] {
        ++replica.in_flight.own;
        replica.own_tokens += prompt_tokens;
        replica.own_since_max = std::max(replica.own_since_max, replica.in_flight.own);
    });
    if (replica.peer_backed_off) {
        const auto broken = std::ranges::find(broken_, replica.profile.id.peer, &BrokenPeer::peer);
        EXA_CHECK(broken != broken_.end());
        broken->trying = true;
        broken->until = now + broken->backoff;
        back_off(*broken);
    }
    return replica.breaker.start();
}

void ReplicaTracker::end(TimePoint now, std::uint32_t at, HealthSignal health, bool trial,
                         std::uint32_t prompt_tokens) {
    Replica& replica = replicas_[at];
    EXA_CHECK(replica.in_flight.own > 0);
    update(replica, [&] {
        --replica.in_flight.own;
        replica.own_tokens -= prompt_tokens;
        replica.own_since_min = std::min(replica.own_since_min, replica.in_flight.own);
    });
    replica.backoff.full_until = TimePoint{};
    switch (health) {
        case HealthSignal::none:
            replica.breaker.release(trial);
            break;
        case HealthSignal::success:
            replica.breaker.succeed();
            break;
        case HealthSignal::failure:
            replica.breaker.fail(now, config_.breaker());
            break;
    }
}

void ReplicaTracker::answered(std::uint32_t at, std::uint32_t prompt_tokens) {
    if (prompt_tokens > 0) update(replicas_[at], [&] { replicas_[at].own_tokens -= prompt_tokens; });
    replicas_[at].breaker.answer();
    handle_replica_ok(at);
}

void ReplicaTracker::handle_busy(TimePoint now, std::uint32_t at) {
    replicas_[at].backoff.full_until = now + config_.load_fresh;
}

void ReplicaTracker::handle_refused(TimePoint now, std::uint32_t at) {
    replicas_[at].backoff.refused_until = now + config_.refused_backoff;
}

void ReplicaTracker::handle_load(TimePoint now, std::uint32_t at, const wire::LoadReport& load) {
    adopt(at, load, now - std::max(load.age, Duration::zero()), load.age == Duration::zero());
}

void ReplicaTracker::handle_peer_broken(TimePoint now, PeerId peer) {
    auto broken = std::ranges::find(broken_, peer, &BrokenPeer::peer);
    if (broken == broken_.end()) {
        broken_.push_back({peer, config_.peer_backoff, now + config_.peer_backoff, false});
        broken = broken_.end() - 1;
    } else if (broken->trying || now >= broken->until) {
        broken->backoff = std::min(broken->backoff * 2, config_.peer_backoff_max);
        broken->until = now + broken->backoff;
        broken->trying = false;
    }
    back_off(*broken);
}

void ReplicaTracker::handle_peer_ok(PeerId peer) {
    if (std::erase_if(broken_, [&](const BrokenPeer& broken) { return broken.peer == peer; }) == 0) return;
    for (Replica& replica : replicas_) {
        if (replica.profile.id.peer != peer) continue;
        replica.backoff.link_until = TimePoint{};
        replica.peer_backed_off = false;
    }
}

void ReplicaTracker::handle_replica_ok(std::uint32_t at) {
    if (replicas_[at].peer_backed_off) handle_peer_ok(replicas_[at].profile.id.peer);
}

void ReplicaTracker::back_off(const BrokenPeer& broken) {
    for (Replica& replica : replicas_) {
        if (replica.profile.id.peer != broken.peer) continue;
        replica.backoff.link_until = broken.until;
        replica.peer_backed_off = true;
    }
}

}  // namespace exa::router
