#include "membership/prober.h"

#include <algorithm>
#include <utility>

namespace exa::membership {

namespace {

// Probes under way for others; above that a requester gets no help, which its own health takes for a silent helper.
constexpr std::size_t indirect_max = 256;
// A probe that only the link answered is loss; so many in a row are a firewall.
constexpr std::uint32_t link_only_alarm = 4;

}  // namespace

Effects Prober::start(const Step& step) {
    Effects effects;
    step.timers.set({TimerKind::probe}, step.now + stretched(step.config.probe_interval));
    auto chosen = order_.next_prioritized(step.roster);
    if (!chosen) chosen = order_.next(step.roster, rounds_.tick());
    if (!chosen) return effects;
    const PeerId target = *chosen;
    const Peer& peer = *step.roster.find(target);
    probe_ = Probe{};
    probe_->target = target;
    probe_->generation = peer.record->generation;
    probe_->incarnation = peer.incarnation;
    probe_->seq = step.numbers.next();
    ++probes_;
    was_heard_ = false;
    step.timers.set({TimerKind::probe_timeout}, step.now + stretched(step.config.probe_timeout));
    effects.send(peer.record->gossip, target, make_packet(wire::PacketKind::ping, probe_->seq, target));
    return effects;
}

Effects Prober::ask_others(const Step& step) {
    Effects effects;
    if (!probe_ || probe_->answered) return effects;
    if (step.config.mutant == Mutant::no_indirect_probe) return effects;
    const Peer* target = step.roster.find(probe_->target);
    if (target == nullptr || !target->is_live()) return effects;
    std::vector<PeerId> helpers;
    for (const PeerId id : step.roster.live())
        if (id != probe_->target && step.roster.find(id)->liveness == Liveness::alive) helpers.push_back(id);
    const std::size_t count = std::min<std::size_t>(step.config.indirect_probes, helpers.size());
    for (std::size_t i = 0; i < count; ++i) {
        std::swap(helpers[i], helpers[i + step.rng.below(helpers.size() - i)]);
        wire::Packet request = make_packet(wire::PacketKind::ping_request, probe_->seq, probe_->target);
        request.target_endpoint = target->record->gossip;
        effects.send(step.roster.find(helpers[i])->record->gossip, helpers[i], std::move(request));
        probe_->helpers.push_back(helpers[i]);
    }
    probe_->nacks_expected = count;
    wire::Sync ping;
    ping.kind = wire::SyncKind::ping;
    ping.seq = probe_->seq;
    effects.syncs.push_back({probe_->target, std::move(ping)});
    return effects;
}

// A failed probe is our own fault as far as those who should have answered did not either.
Effects Prober::finish(const Step& step) {
    Effects effects;
    if (!probe_) return effects;
    const Probe probe = std::move(*probe_);
    probe_.reset();
    step.timers.cancel({TimerKind::probe_timeout});
    if (probe.answered) {
        if (!probe.answered_itself) indirectly_answered_ = probe.target;
        watch_datagrams(probe.answered_by_datagram, step, effects);
        return effects;
    }
    const Peer* peer = step.roster.find(probe.target);
    if (peer == nullptr || peer->record->generation != probe.generation || !peer->is_live()) return effects;
    // It refuted something while we waited, so it is alive.
    if (peer->incarnation > probe.incarnation || probe.is_void) return effects;
    ++probes_failed_;
    is_cut_off_ = !was_heard_ && probe.nacks_expected > 0 && probe.nacks == 0;
    worsen(step.config, probe.nacks_expected > 0 ? probe.nacks_expected - probe.nacks : 1);
    effects.accused.push_back(probe.target);
    return effects;
}

Effects Prober::handle_ack(const Step& step, PeerId target, std::uint64_t seq, Path path) {
    Effects effects;
    const bool is_probed = probe_ && probe_->seq == seq && probe_->target == target;
    if (is_probed && path != Path::link) probe_->answered_by_datagram = true;
    if (is_probed && path == Path::datagram) probe_->answered_itself = true;
    if (is_probed && !probe_->answered) {
        probe_->answered = true;
        step.timers.cancel({TimerKind::probe_timeout});
        if (local_health_ > 0) --local_health_;
        if (order_.has_prioritized()) step.timers.set({TimerKind::probe}, step.now);
        return effects;
    }
    const auto at = indirect_.find(seq);
    if (at == indirect_.end() || at->second.target != target) return effects;
    const IndirectProbe& probe = at->second;
    effects.send(probe.requester, probe.requester_id, make_packet(wire::PacketKind::ack, probe.requester_seq, target));
    step.timers.cancel({TimerKind::indirect_probe, seq});
    indirect_.erase(at);
    return effects;
}

void Prober::watch_datagrams(bool got_through, const Step& step, Effects& effects) {
    link_only_ = got_through ? 0 : link_only_ + 1;
    const bool blocked = udp_blocked_ ? !got_through : link_only_ >= link_only_alarm;
    if (std::exchange(udp_blocked_, blocked) == blocked) return;
    effects.notices.push_back({blocked ? EventKind::udp_blocked : EventKind::udp_restored, step.roster.self()});
}

Effects Prober::handle_request(const Step& step, const Endpoint& from, const wire::Packet& request) {
    Effects effects;
    if (indirect_.size() >= indirect_max || request.target == PeerId{}) return effects;
    if (request.target == step.roster.self()) {
        effects.send(from, request.header.sender, make_packet(wire::PacketKind::ack, request.seq, request.target));
        return effects;
    }
    const std::uint64_t seq = step.numbers.next();
    indirect_[seq] = {from, request.seq, request.header.sender, request.target, false};
    // Before the requester's probe ends, so that it learns that we are there even if the target is not.
    step.timers.set({TimerKind::indirect_probe, seq}, step.now + step.config.probe_timeout * 4 / 5);
    effects.send(request.target_endpoint, request.target, make_packet(wire::PacketKind::ping, seq, request.target));
    return effects;
}

Effects Prober::indirect_timeout(const Step& step, std::uint64_t seq) {
    Effects effects;
    const auto at = indirect_.find(seq);
    if (at == indirect_.end()) return effects;
    IndirectProbe& probe = at->second;
    if (probe.nacked) {
        indirect_.erase(at);
        return effects;
    }
    // A late answer is still worth passing on for as long as a stretched probe may last.
    probe.nacked = true;
    step.timers.set({TimerKind::indirect_probe, seq}, step.now + 2 * step.config.probe_interval);
    effects.send(probe.requester, probe.requester_id,
                 make_packet(wire::PacketKind::nack, probe.requester_seq, probe.target));
    return effects;
}

void Prober::hear(const Step& step) {
    was_heard_ = true;
    if (!std::exchange(is_cut_off_, false)) return;
    local_health_ = 0;
    probe_.reset();
    step.timers.cancel({TimerKind::probe_timeout});
    step.timers.set({TimerKind::probe}, step.now);
}

void Prober::handle_nack(const wire::Packet& nack) {
    if (!probe_ || probe_->seq != nack.seq || probe_->target != nack.target) return;
    if (std::erase(probe_->helpers, nack.header.sender) != 0) ++probe_->nacks;
}

void Prober::probe_soon(const Step& step, PeerId suspect) {
    if (probe_ && probe_->target == suspect && !probe_->answered) return;
    order_.prioritize(suspect);
    if (!probe_ || probe_->answered) step.timers.set({TimerKind::probe}, step.now);
}

void Prober::worsen(const Config& config, std::size_t by) {
    local_health_ = static_cast<std::uint32_t>(std::min<std::size_t>(local_health_ + by, config.local_health_max));
}

void Prober::note_lateness(const Config& config) {
    worsen(config, 1);
    if (probe_) probe_->is_void = true;
}

void Prober::stop() {
    pause();
    indirect_.clear();
}

}  // namespace exa::membership
