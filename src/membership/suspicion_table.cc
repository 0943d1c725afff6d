#include "membership/suspicion_table.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "base/hash.h"

namespace exa::membership {

namespace {

// Other peers that the last check asks.
constexpr std::size_t last_check_peers = 2;

TimerKey rack_timer(std::string_view rack) {
    return {TimerKind::rack, hash64(as_bytes(rack))};
}

const std::string& rack_of(const Step& step, PeerId peer) {
    return step.roster.find(peer)->record->rack;
}

}  // namespace

void SuspicionTable::start(const Step& step, PeerId peer, PeerId accuser) {
    deferred_.erase(peer);
    const Suspicion suspicion(step.now, accuser, suspicion_bounds(step.config, step.roster.live_count()));
    running_.insert_or_assign(peer, suspicion);
    step.timers.set({TimerKind::suspicion, peer.value}, suspicion.next_step(step.config.probe_timeout));
}

bool SuspicionTable::confirm(const Step& step, PeerId peer, PeerId accuser) {
    if (is_deferred(peer)) return false;
    const auto at = running_.find(peer);
    EXA_CHECK(at != running_.end());
    if (!at->second.confirm(accuser)) return false;
    const TimePoint next = at->second.next_step(step.config.probe_timeout);
    step.timers.set({TimerKind::suspicion, peer.value}, std::max(step.now, next));
    return true;
}

void SuspicionTable::end(PeerId peer) {
    running_.erase(peer);
    deferred_.erase(peer);
}

SuspicionTable::Due SuspicionTable::due(PeerId peer) const {
    const auto at = running_.find(peer);
    if (at == running_.end()) return Due::nothing;
    return at->second.checked_again() ? Due::verdict : Due::last_check;
}

Effects SuspicionTable::check_again(const Step& step, PeerId suspect) {
    Effects effects;
    const Peer& peer = *step.roster.find(suspect);
    Suspicion& suspicion = running_.at(suspect);
    suspicion.check_again(step.now, step.config.probe_timeout);
    step.timers.set({TimerKind::suspicion, suspect.value}, suspicion.next_step(step.config.probe_timeout));
    effects.send(peer.record->gossip, suspect, make_packet(wire::PacketKind::ping, step.numbers.next(), suspect));
    const std::vector<PeerId>& live = step.roster.live();
    for (std::size_t i = 0; i < last_check_peers; ++i) {
        const PeerId other = live[step.rng.below(live.size())];
        if (other == suspect || step.roster.find(other)->liveness != Liveness::alive) continue;
        wire::Packet rumor = make_packet(wire::PacketKind::gossip, 0, other);
        rumor.facts.push_back(Roster::fact(peer));
        effects.send(step.roster.find(other)->record->gossip, other, std::move(rumor));
    }
    return effects;
}

Effects SuspicionTable::postpone(const Step& step) {
    Effects effects;
    const TimePoint given = std::exchange(verdicts_from_, step.now + step.config.probe_timeout);
    for (const PeerId id : step.roster.suspects()) {
        if (is_deferred(id)) continue;
        const Suspicion& suspicion = running_.at(id);
        if (!suspicion.checked_again()) continue;
        const TimePoint end = suspicion.next_step(step.config.probe_timeout);
        if (end <= given || end > step.now) continue;
        Effects asked = check_again(step, id);
        std::ranges::move(asked.packets, std::back_inserter(effects.packets));
    }
    for (const TimerKind kind : {TimerKind::rack, TimerKind::lost})
        step.timers.put_off(kind, given, step.now, verdicts_from_);
    return effects;
}

bool SuspicionTable::is_deferrable(const Step& step, PeerId peer) const {
    const std::string& rack = rack_of(step, peer);
    if (rack.empty() || step.config.rack_verdict_wait == Duration{0}) return false;
    const auto is_other = [&](PeerId other) { return other != peer && rack_of(step, other) == rack; };
    const auto others = static_cast<std::size_t>(std::ranges::count_if(step.roster.suspects(), is_other));
    return others + 1 >= step.config.rack_suspects_min;
}

void SuspicionTable::defer(const Step& step, PeerId peer) {
    deferred_.insert(peer);
    step.timers.cancel({TimerKind::suspicion, peer.value});
    step.timers.set_sooner(rack_timer(rack_of(step, peer)), step.now + step.config.rack_verdict_wait);
}

std::vector<PeerId> SuspicionTable::take_decided(const Step& step, std::string_view rack) {
    const auto is_open = [&](PeerId id) { return rack_of(step, id) == rack && !is_deferred(id); };
    if (!step.timers.is_set(rack_timer(rack)) || std::ranges::any_of(step.roster.suspects(), is_open)) return {};
    return take_deferred(step, rack);
}

std::vector<PeerId> SuspicionTable::take_overdue(const Step& step, std::uint64_t rack_hash) {
    for (const PeerId id : step.roster.suspects())
        if (is_deferred(id) && rack_timer(rack_of(step, id)).of == rack_hash)
            return take_deferred(step, rack_of(step, id));
    return {};
}

std::vector<PeerId> SuspicionTable::take_deferred(const Step& step, std::string_view rack) {
    step.timers.cancel(rack_timer(rack));
    std::vector<PeerId> taken;
    for (const PeerId id : step.roster.suspects())
        if (is_deferred(id) && rack_of(step, id) == rack) taken.push_back(id);
    return taken;
}

std::vector<PeerId> SuspicionTable::rack_probes(const Step& step, std::string_view rack) const {
    std::vector<PeerId> chosen;
    const auto stands_in = [&](PeerId id) { return rack_of(step, id) == rack; };
    if (rack.empty() || std::ranges::count_if(step.roster.suspects(), stands_in) != step.config.rack_suspects_min)
        return chosen;
    const std::vector<PeerId>& live = step.roster.live();
    const double chance = static_cast<double>(step.config.out_of_turn_probers) / static_cast<double>(live.size());
    for (const PeerId id : live)
        if (stands_in(id) && step.roster.find(id)->liveness == Liveness::alive && step.rng.unit() < chance)
            chosen.push_back(id);
    return chosen;
}

}  // namespace exa::membership
