// How a Membership finds out who lives: its own probes, probes for others, and dialling of seeds and of the dead.
#include <algorithm>
#include <iterator>

#include "membership/membership.h"

namespace exa::membership {

namespace {

// Probes under way for others; above that a requester gets no help, which its own health takes for a silent relay.
constexpr std::size_t relays_max = 256;

}  // namespace

void Membership::start_probe(TimePoint now) {
    timers_.set({TimerKind::probe}, now + stretched(config_.probe_interval));
    const auto target = order_.next(roster_, rng_);
    if (!target) return;
    const Peer& peer = *roster_.find(*target);
    probe_ = Probe{};
    probe_->target = *target;
    probe_->generation = peer.record.generation;
    probe_->incarnation = peer.incarnation;
    probe_->seq = next_seq_++;
    ++counters_.probes;
    timers_.set({TimerKind::probe_timeout}, now + stretched(config_.probe_timeout));
    send(now, peer.record.gossip, *target, packet(wire::PacketKind::ping, probe_->seq, *target), false);
}

// The direct ping had its time: others try, and the link, in case that only our datagrams are lost.
void Membership::ask_others(TimePoint now) {
    if (!probe_ || probe_->answered) return;
    const Peer* target = roster_.find(probe_->target);
    if (target == nullptr || !target->is_live()) return;
    std::vector<PeerId> helpers;
    for (const PeerId id : roster_.live())
        if (id != probe_->target && roster_.find(id)->liveness == Liveness::alive) helpers.push_back(id);
    const std::size_t count = std::min<std::size_t>(config_.indirect_probes, helpers.size());
    for (std::size_t i = 0; i < count; ++i) {
        std::swap(helpers[i], helpers[i + rng_.below(helpers.size() - i)]);
        wire::Packet request = packet(wire::PacketKind::ping_request, probe_->seq, probe_->target);
        request.target_endpoint = target->record.gossip;
        send(now, roster_.find(helpers[i])->record.gossip, helpers[i], std::move(request), false);
        probe_->relays.push_back(helpers[i]);
    }
    probe_->nacks_expected = count;
    wire::Sync ping;
    ping.kind = wire::SyncKind::ping;
    ping.seq = probe_->seq;
    send_sync(probe_->target, ping);
}

// Lifeguard section IV-A: a failed probe is our own fault as far as those who should have answered did not either.
void Membership::finish_probe(TimePoint now) {
    if (!probe_) return;
    const Probe probe = std::move(*probe_);
    probe_.reset();
    timers_.cancel({TimerKind::probe_timeout});
    if (probe.answered) return;
    const Peer* peer = roster_.find(probe.target);
    if (peer == nullptr || peer->record.generation != probe.generation || !peer->is_live()) return;
    // It refuted something while we waited, so it lives.
    if (peer->incarnation > probe.incarnation) return;
    ++counters_.probes_failed;
    worse_health(probe.nacks_expected > 0 ? probe.nacks_expected - probe.nacks : 1);
    if (peer->liveness == Liveness::alive)
        suspect(now, probe.target, peer->incarnation, self());
    else
        confirm(now, probe.target, self());
}

void Membership::answered(TimePoint now, PeerId target, std::uint64_t seq) {
    if (probe_ && probe_->seq == seq && probe_->target == target && !probe_->answered) {
        probe_->answered = true;
        timers_.cancel({TimerKind::probe_timeout});
        if (health_ > 0) --health_;
        if (order_.has_hurried()) timers_.set({TimerKind::probe}, now);
        return;
    }
    const auto relay = relays_.find(seq);
    if (relay == relays_.end() || relay->second.target != target) return;
    send(now, relay->second.requester, relay->second.requester_id,
         packet(wire::PacketKind::ack, relay->second.requester_seq, target), false);
    timers_.cancel({TimerKind::relay, seq});
    relays_.erase(relay);
}

void Membership::handle_ping(TimePoint now, const Endpoint& from, const wire::Packet& ping) {
    if (ping.target != PeerId{} && ping.target != self()) {
        ++counters_.misdirected;
        return;
    }
    wire::Packet ack = packet(wire::PacketKind::ack, ping.seq, self());
    const Peer* sender = roster_.find(ping.header.sender);
    ack.introduce = sender == nullptr || sender->record.generation != ping.header.generation;
    send(now, from, ping.header.sender, std::move(ack), ping.introduce);
}

void Membership::handle_ping_request(TimePoint now, const Endpoint& from, const wire::Packet& request) {
    if (stage_ != Stage::member || relays_.size() >= relays_max || request.target == PeerId{}) return;
    if (request.target == self()) {
        send(now, from, request.header.sender, packet(wire::PacketKind::ack, request.seq, self()), false);
        return;
    }
    const std::uint64_t seq = next_seq_++;
    relays_[seq] = {from, request.seq, request.header.sender, request.target, false};
    // Before the requester's probe ends, so that it learns that we are there even if the target is not.
    timers_.set({TimerKind::relay, seq}, now + config_.probe_timeout * 4 / 5);
    send(now, request.target_endpoint, request.target, packet(wire::PacketKind::ping, seq, request.target), false);
}

void Membership::relay_timeout(TimePoint now, std::uint64_t seq) {
    const auto at = relays_.find(seq);
    if (at == relays_.end()) return;
    Relay& relay = at->second;
    if (relay.nacked) {
        relays_.erase(at);
        return;
    }
    // A late answer is still worth passing on for as long as a stretched probe may last.
    relay.nacked = true;
    timers_.set({TimerKind::relay, seq}, now + 2 * config_.probe_interval);
    send(now, relay.requester, relay.requester_id, packet(wire::PacketKind::nack, relay.requester_seq, relay.target),
         false);
}

void Membership::handle_nack(const wire::Packet& nack) {
    if (!probe_ || probe_->seq != nack.seq || probe_->target != nack.target) return;
    if (std::erase(probe_->relays, nack.header.sender) != 0) ++probe_->nacks;
}

void Membership::worse_health(std::size_t by) {
    health_ = static_cast<std::uint32_t>(std::min<std::size_t>(health_ + by, config_.health_max));
}

// Checks `suspect` out of turn: at once, unless an answer is still awaited.
void Membership::witness(TimePoint now, PeerId suspect) {
    if (stage_ != Stage::member || (probe_ && probe_->target == suspect && !probe_->answered)) return;
    order_.hurry(suspect);
    if (!probe_ || probe_->answered) timers_.set({TimerKind::probe}, now);
}

void Membership::dial_seeds(TimePoint now) {
    for (const Endpoint& seed : seeds_) {
        wire::Packet ping = packet(wire::PacketKind::ping, next_seq_++, PeerId{});
        ping.introduce = true;
        send(now, seed, std::nullopt, std::move(ping), true);
    }
    timers_.set({TimerKind::seeds}, now + seed_wait_);
    seed_wait_ = std::min(seed_wait_ * 3 / 2, config_.seed_backoff_max);
}

// One of the dead and one seed that is nobody's address. Their answers refute their deaths and start a comparison.
void Membership::redial(TimePoint now) {
    if (!roster_.dead().empty()) {
        const auto at =
            std::next(roster_.dead().begin(), static_cast<std::ptrdiff_t>(rng_.below(roster_.dead().size())));
        const PeerId id = at->second;
        send(now, roster_.find(id)->record.gossip, id, packet(wire::PacketKind::ping, next_seq_++, id), true);
    }
    if (!joined_) return;
    if (strangers_of_ != roster_.live_edition()) {
        strangers_ = seeds_;
        for (const PeerId id : roster_.live()) std::erase(strangers_, roster_.find(id)->record.gossip);
        strangers_of_ = roster_.live_edition();
    }
    if (strangers_.empty()) return;
    wire::Packet ping = packet(wire::PacketKind::ping, next_seq_++, PeerId{});
    ping.introduce = true;
    send(now, strangers_[rng_.below(strangers_.size())], std::nullopt, std::move(ping), true);
}

}  // namespace exa::membership
