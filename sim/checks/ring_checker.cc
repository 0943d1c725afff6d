#include "sim/checks/ring_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/hash.h"
#include "sim/checks/placement.h"

namespace exa::sim {

using Told = membership::EventKind;
using membership::Liveness;

namespace {

// Positions of a ring, or keys, that are looked at for each change.
constexpr std::size_t placement_samples = 64;
constexpr std::size_t copies_samples = 8;
// Of a segment, on different racks.
constexpr std::size_t copies = 2;
// A ring that only grows is looked at this often, as app/control publishes it.
constexpr std::chrono::milliseconds ring_period{20};

std::uint64_t ring_digest(const router::RoutingView& view) {
    std::uint64_t digest = 0;
    for (const router::Pool& pool : view.pools()) digest = hash64(pool.hash, pool.ring->digest(), digest);
    return digest;
}

}  // namespace

RingChecker::RingChecker(CheckContext& context)
    : Checker(context), ready_(context.cluster.size()), samples_(context.cluster.streams().stream("placement")) {}

void RingChecker::on_up(WorldTime, const Peer& peer, std::size_t) {
    ready_[peer.host].clear();
    if (!observer_) observer_ = peer.host;
}

void RingChecker::on_down(WorldTime, const Peer& peer, std::size_t) {
    std::vector<std::uint32_t>& row = ready_[peer.host];
    ready_sum_ -= std::accumulate(row.begin(), row.end(), std::uint64_t{0});
    row.clear();
    if (observer_ != peer.host) return;
    observer_.reset();
    for (Host other = 0; other < context_.cluster.size() && !observer_; ++other)
        if (other != peer.host && context_.cluster.peer(other).is_up()) observer_ = other;
    digest_ = 0;
    before_.reset();
}

void RingChecker::after_event(const Peer& observer, std::size_t number, const membership::Event& event) {
    count_ready(observer, number);
    if (event.kind == Told::suspect || event.kind == Told::lost) return;
    look_at(observer, event.kind == Told::dead || event.kind == Told::left);
}

void RingChecker::sweep(WorldTime) {
    if (is_stale_ && observer_) look_at(context_.cluster.peer(*observer_), true);
}

void RingChecker::count_ready(const Peer& observer, std::size_t number) {
    const Opinion& opinion = context_.truth.opinion(observer.host, number);
    std::uint32_t ready = 0;
    if (opinion.known && is_live(opinion.liveness)) {
        const auto* peer = observer.node->membership().roster().find(context_.truth.subject(number).id);
        if (peer != nullptr)
            for (const wire::ReplicaRecord& replica : peer->record->replicas)
                ready += replica.state == wire::ReplicaState::ready ? 1 : 0;
    }
    std::vector<std::uint32_t>& row = ready_[observer.host];
    if (row.size() <= number) row.resize(context_.truth.size());
    ready_sum_ = ready_sum_ + ready - row[number];
    row[number] = ready;
    const std::uint64_t peers = context_.cluster.size();
    const std::uint64_t replicas = context_.cluster.config().replicas;
    if (!context_.measured.ready_all && replicas > 0 && context_.truth.up() == peers &&
        ready_sum_ == peers * (peers - 1) * replicas)
        context_.measured.ready_all = seconds_of(context_.cluster.now());
}

void RingChecker::look_at(const Peer& observer, bool at_once) {
    if (observer.host != observer_) return;
    const WorldTime now = context_.cluster.now();
    is_stale_ = !at_once && now < looked_ + ring_period;
    if (is_stale_) return;
    looked_ = now;
    auto view = observer.node->routing();
    const std::uint64_t digest = ring_digest(*view);
    if (digest == digest_) return;
    if (digest_ != 0 && context_.is_measuring && now >= WorldTime{context_.scenario.measure_from})
        ++context_.measured.ring_changes;
    digest_ = digest;
    if (before_ && watches("R2")) check_movement(observer, *before_, *view);
    if (watches("R3")) check_copies(observer);
    before_ = std::move(view);
}

void RingChecker::check_movement(const Peer& observer, const router::RoutingView& before,
                                 const router::RoutingView& after) {
    for (const router::Pool& pool : after.pools()) {
        const router::Pool* was = before.find_pool(pool.hash);
        if (was == nullptr || was->ring == pool.ring) continue;
        ++context_.measured.placements;
        if (const auto moved = needless_move(side_of(*was->ring), side_of(*pool.ring), samples_, placement_samples))
            violate("R2", fmt::format("in peer {}'s ring {}", observer.host, *moved));
    }
}

void RingChecker::check_copies(const Peer& observer) {
    const membership::Roster& roster = observer.node->membership().roster();
    std::vector<ring::RendezvousCandidate> candidates;
    for (std::size_t i = 0; i < roster.size(); ++i) {
        const membership::Peer& peer = roster.peer(i);
        if (peer.liveness == Liveness::lost || peer.liveness == Liveness::left) continue;
        candidates.push_back({peer.record->id.value, 1, hash64(as_bytes(peer.record->rack))});
    }
    ++context_.measured.placements;
    if (const auto wrong = misplaced_copies(candidates, copies, ring::choose_owners, samples_, copies_samples))
        violate("R3", fmt::format("as peer {} sees it, {}", observer.host, *wrong));
}

void RingChecker::check_rings(const std::vector<Host>& core) {
    constexpr std::size_t sample = 4;
    std::optional<std::uint64_t> digest;
    const bool whole = core.size() == context_.truth.up();
    for (std::size_t i = 0; i < std::min(sample, core.size()); ++i) {
        const Peer& peer = context_.cluster.peer(core[i * (core.size() - 1) / std::max<std::size_t>(sample - 1, 1)]);
        const auto view = peer.node->routing();
        for (const router::Pool& pool : view->pools()) {
            std::vector<ring::RingMember> members(pool.ring->members().begin(), pool.ring->members().end());
            std::ranges::reverse(members);
            if (ring::Ring(members).digest() != pool.ring->digest())
                violate("R1", fmt::format("peer {}'s ring depends on the order of its members", peer.host));
        }
        const std::uint64_t own = ring_digest(*view);
        if (whole && digest && *digest != own) violate("R1", fmt::format("peer {} has another ring", peer.host));
        digest = own;
    }
}

}  // namespace exa::sim
