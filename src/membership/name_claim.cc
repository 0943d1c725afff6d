#include "membership/name_claim.h"

#include <algorithm>
#include <tuple>

namespace exa::membership {

namespace {

// The higher yields.
template <class Record>
auto rank(PeerId peer, const Record& record) {
    return std::tuple(~record.name_claim, record.state == wire::PeerState::starting,
                      static_cast<std::uint16_t>(~record.name_support), peer);
}

auto rank(const Roster& roster, PeerId peer) {
    return rank<wire::PeerRecord>(peer, *roster.find(peer)->record);
}

bool is_ghost(const Peer& peer) {
    return peer.liveness == Liveness::dead || peer.liveness == Liveness::lost;
}

}  // namespace

std::optional<NameClaim::Conflict> NameClaim::check(const Roster& roster, PeerId peer, Mutant mutant) {
    const auto other = roster.namesake(peer);
    if (!other) return std::nullopt;
    const bool yields = mutant == Mutant::names_by_id ? peer > *other : rank(roster, peer) > rank(roster, *other);
    if (yields) return Conflict{peer, *other};
    return Conflict{*other, peer};
}

bool NameClaim::is_spare_ghost(const Roster& roster, PeerId peer, const wire::PeerProfile& profile) {
    return std::ranges::any_of(roster.named(profile.name), [&](PeerId other) {
        return is_ghost(*roster.find(other)) && rank(roster, other) < rank(peer, profile);
    });
}

std::vector<PeerId> NameClaim::spare_ghosts(const Roster& roster, PeerId peer) {
    std::vector<PeerId> lost = roster.named(roster.find(peer)->record->name);
    std::erase_if(lost, [&](PeerId id) { return roster.find(id)->liveness != Liveness::lost; });
    const auto kept = std::ranges::min_element(lost, {}, [&](PeerId id) { return rank(roster, id); });
    if (kept != lost.end()) lost.erase(kept);
    return lost;
}

std::uint32_t NameClaim::next(const Roster& roster) {
    std::uint32_t last = roster.own().record->name_claim;
    for (const PeerId id : roster.named(roster.own().record->name))
        last = std::max(last, roster.find(id)->record->name_claim);
    return std::min(last, wire::name_claim_max - 1) + 1;
}

Effects NameClaim::ask(const Step& step, PeerId holder) {
    Effects effects;
    const bool is_newcomer = step.roster.own().record->name_claim == 0;
    if (asked_ != holder && is_newcomer)
        effects.notices.push_back({EventKind::waits_for_name, step.roster.self(), holder});
    if (asked_ == holder && step.now < asked_until_) return effects;
    asked_ = holder;
    asked_until_ = step.now + step.config.probe_interval;
    seq_ = step.numbers.next();
    step.timers.set({TimerKind::name}, asked_until_);
    wire::Packet question = make_packet(wire::PacketKind::ping, seq_, holder);
    question.want_record = true;
    effects.send(step.roster.find(holder)->record->gossip, holder, std::move(question));
    return effects;
}

bool NameClaim::is_confirmed(const Roster& roster, const wire::Packet& packet) const {
    if (asked_ == PeerId{} || packet.header.sender != asked_ || packet.kind != wire::PacketKind::ack ||
        packet.seq != seq_)
        return false;
    const std::string& name = roster.own().record->name;
    return std::ranges::any_of(packet.records, [&](const wire::RecordDelta& delta) {
        return delta.peer == asked_ && delta.profile && delta.profile->name == name;
    });
}

}  // namespace exa::membership
