// How a Membership finds out who lives: its own probes, probes for others, and dialling of seeds and of the dead.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "membership/membership.h"

namespace exa::membership {

namespace {

// Probes under way for others; above that a requester gets no help, which its own health takes for a silent relay.
constexpr std::size_t relays_max = 256;
// For so long news may still be on its way.
constexpr int settle_intervals = 5;
constexpr std::uint32_t link_only_alarm = 4;
// Others who are asked before a suspect is given up.
constexpr std::size_t last_asked = 2;

}  // namespace

void Membership::start_probe(TimePoint now) {
    timers_.set({TimerKind::probe}, now + stretched(config_.probe_interval));
    auto target = order_.next_hurried(roster_);
    if (!target) target = order_.next(roster_, rounds_.tick());
    if (!target) return;
    const Peer& peer = *roster_.find(*target);
    probe_ = Probe{};
    probe_->target = *target;
    probe_->generation = peer.record->generation;
    probe_->incarnation = peer.incarnation;
    probe_->seq = next_seq_++;
    ++counters_.probes;
    timers_.set({TimerKind::probe_timeout}, now + stretched(config_.probe_timeout));
    send(now, peer.record->gossip, *target, ping(probe_->seq, *target), false);
}

wire::Packet Membership::ping(std::uint64_t seq, PeerId target) const {
    wire::Packet ping = packet(wire::PacketKind::ping, seq, target);
    ping.round = rounds_.now();
    ping.roster = roster_digest();
    return ping;
}

// Of ourselves it holds what others can know.
std::uint32_t Membership::roster_digest() const {
    const std::uint32_t own = Roster::digest_part(self(), record().generation, roster_.told_version());
    return std::max(1U, roster_.live_digest() ^ own);
}

// News that misses one peer of many, as it must now and then, is missed until the two compare everything. So each ping
// says what its sender knows in four bytes: when that still differs although nothing has changed here for a moment,
// they compare now. Those who go on differing (a cut in one direction) do so more and more rarely.
void Membership::compare_rosters(TimePoint now, PeerId with, std::uint32_t theirs) {
    const std::uint32_t ours = roster_digest();
    if (std::exchange(settled_digest_, ours) != ours) settled_since_ = now;
    if (theirs == ours) {
        differs_wait_ = config_.probe_interval;
        // One of many knows all records that we do: so do nearly all, and who does not will show it by its ping.
        queue_.drop_backlog();
    }
    if (!joined_ || stage_ != Stage::member || theirs == ours || theirs == 0) return;
    if (now - settled_since_ < settle_intervals * config_.gossip_interval || now < differs_sync_until_) return;
    differs_sync_until_ = now + differs_wait_;
    differs_wait_ = std::min(2 * differs_wait_, config_.sync_interval);
    start_sync(now, with, false);
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
        request.target_endpoint = target->record->gossip;
        send(now, roster_.find(helpers[i])->record->gossip, helpers[i], std::move(request), false);
        probe_->relays.push_back(helpers[i]);
    }
    probe_->nacks_expected = count;
    wire::Sync ping;
    ping.kind = wire::SyncKind::ping;
    ping.seq = probe_->seq;
    send_sync(probe_->target, ping);
}

// A timer that comes late says that this process was stopped or starved: an answer may wait unread, and our own answers
// are late. That is a failure of our health and of nobody else's. So verdicts that are due are put off for long enough
// to read what waits, and the suspects are asked again. Each is put off once: a process that is always late has read
// what came before by the time it looks again, and must not keep the dead for ever.
void Membership::notice_lateness(TimePoint now) {
    if (stage_ != Stage::member || timers_.next() > now - config_.probe_timeout / 2) return;
    worse_health(1);
    if (probe_) probe_->is_void = true;
    const TimePoint given = std::exchange(verdicts_from_, now + config_.probe_timeout);
    for (const PeerId id : roster_.suspects()) {
        const Peer& peer = *roster_.find(id);
        if (peer.condemned || !peer.suspicion->asked_last()) continue;
        const TimePoint end = peer.suspicion->next_step(config_.probe_timeout);
        if (end > given && end <= now) ask_last(now, id);
    }
    for (const TimerKind kind : {TimerKind::group, TimerKind::lost}) timers_.put_off(kind, given, now, verdicts_from_);
}

// Lifeguard section IV-A: a failed probe is our own fault as far as those who should have answered did not either.
void Membership::finish_probe(TimePoint now) {
    if (!probe_) return;
    const Probe probe = std::move(*probe_);
    probe_.reset();
    timers_.cancel({TimerKind::probe_timeout});
    if (probe.answered) {
        watch_datagrams(probe.answered_by_datagram);
        return;
    }
    const Peer* peer = roster_.find(probe.target);
    if (peer == nullptr || peer->record->generation != probe.generation || !peer->is_live()) return;
    // It refuted something while we waited, so it lives.
    if (peer->incarnation > probe.incarnation || probe.is_void) return;
    ++counters_.probes_failed;
    worse_health(probe.nacks_expected > 0 ? probe.nacks_expected - probe.nacks : 1);
    if (peer->liveness == Liveness::alive)
        suspect(now, probe.target, peer->incarnation, self());
    else
        confirm(now, probe.target, self());
}

void Membership::answered(TimePoint now, PeerId target, std::uint64_t seq, Way way) {
    const bool is_probed = probe_ && probe_->seq == seq && probe_->target == target;
    if (is_probed && way == Way::datagram) probe_->answered_by_datagram = true;
    if (is_probed && !probe_->answered) {
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

// A probe that only the link answered is loss; several in a row are a firewall.
void Membership::watch_datagrams(bool got_through) {
    link_only_ = got_through ? 0 : link_only_ + 1;
    const bool blocked = alarms_.udp_blocked ? !got_through : link_only_ >= link_only_alarm;
    if (std::exchange(alarms_.udp_blocked, blocked) == blocked) return;
    view_stale_ = true;
    emit(blocked ? EventKind::udp_blocked : EventKind::udp_restored, self());
}

void Membership::handle_ping(TimePoint now, const Endpoint& from, const wire::Packet& ping) {
    if (ping.target != PeerId{} && ping.target != self()) {
        ++counters_.misdirected;
        return;
    }
    rounds_.hear(ping.round);
    compare_rosters(now, ping.header.sender, ping.roster);
    wire::Packet ack = packet(wire::PacketKind::ack, ping.seq, self());
    const Peer* sender = roster_.find(ping.header.sender);
    ack.introduce = sender == nullptr || sender->record->generation != ping.header.generation;
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
    send(now, request.target_endpoint, request.target, ping(seq, request.target), false);
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
    health_ = static_cast<std::uint32_t>(std::min<std::size_t>(health_ + by, config_.local_health_max));
}

// Checks `suspect` out of turn: at once, unless an answer is still awaited.
void Membership::witness(TimePoint now, PeerId suspect) {
    if (stage_ != Stage::member || (probe_ && probe_->target == suspect && !probe_->answered)) return;
    order_.hurry(suspect);
    if (!probe_ || probe_->answered) timers_.set({TimerKind::probe}, now);
}

// Before its time runs out the suspect is asked once more, and so are others: a refutation that the news did not bring
// us comes with their answers.
void Membership::ask_last(TimePoint now, PeerId suspect) {
    const Peer& peer = *roster_.find(suspect);
    roster_.suspicion(suspect).ask_last(now, config_.probe_timeout);
    timers_.set({TimerKind::suspicion, suspect.value}, roster_.suspicion(suspect).next_step(config_.probe_timeout));
    send(now, peer.record->gossip, suspect, ping(next_seq_++, suspect), false);
    for (std::size_t i = 0; i < last_asked; ++i) {
        const PeerId other = roster_.live()[rng_.below(roster_.live().size())];
        if (other == suspect || roster_.find(other)->liveness != Liveness::alive) continue;
        wire::Packet question = packet(wire::PacketKind::gossip, 0, other);
        question.facts.push_back(Roster::fact(peer));
        send(now, roster_.find(other)->record->gossip, other, std::move(question), false);
    }
}

// Asks whoever is there, and tells who we are.
void Membership::introduce(TimePoint now, const Endpoint& stranger) {
    wire::Packet ping = this->ping(next_seq_++, PeerId{});
    ping.introduce = true;
    send(now, stranger, std::nullopt, std::move(ping), true);
}

void Membership::dial_seeds(TimePoint now) {
    for (const Endpoint& seed : seeds_) introduce(now, seed);
    timers_.set({TimerKind::seeds}, now + seed_wait_);
    seed_wait_ = std::min(seed_wait_ * 3 / 2, config_.seed_backoff_max);
}

// One of the dead and one address at which a member may be: a seed's, or that of a peer so long dead that it is
// forgotten. Their answers refute their deaths and start a comparison.
void Membership::redial(TimePoint now) {
    if (!roster_.dead().empty()) {
        const auto at =
            std::next(roster_.dead().begin(), static_cast<std::ptrdiff_t>(rng_.below(roster_.dead().size())));
        const PeerId id = at->second;
        send(now, roster_.find(id)->record->gossip, id, ping(next_seq_++, id), true);
    }
    if (!joined_) return;
    if (strangers_of_ != roster_.live_edition()) {
        std::set<Endpoint> strangers(seeds_.begin(), seeds_.end());
        strangers.insert(former_.begin(), former_.end());
        strangers.erase(record().gossip);
        for (const PeerId id : roster_.live()) strangers.erase(roster_.find(id)->record->gossip);
        const auto is_member = [&](const Endpoint& endpoint) { return !strangers.contains(endpoint); };
        std::erase_if(former_, is_member);
        strangers_ = seeds_;
        std::erase_if(strangers_, is_member);
        strangers_.insert(strangers_.end(), former_.begin(), former_.end());
        strangers_of_ = roster_.live_edition();
    }
    if (strangers_.empty()) return;
    introduce(now, strangers_[rng_.below(strangers_.size())]);
}

}  // namespace exa::membership
