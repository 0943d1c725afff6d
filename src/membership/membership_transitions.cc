// How a peer's liveness changes in a Membership, and all that follows from it.
#include "membership/membership.h"

namespace exa::membership {

namespace {

const std::string& rack_of(const Roster& roster, PeerId id) {
    return roster.find(id)->record->rack;
}

}  // namespace

void Membership::accuse(TimePoint now, PeerId id) {
    const Peer& peer = *roster_.find(id);
    if (peer.liveness == Liveness::alive)
        suspect(now, id, peer.incarnation, self());
    else
        confirm(now, id, self());
}

void Membership::suspect(TimePoint now, PeerId id, Incarnation incarnation, PeerId accuser) {
    roster_.set_liveness(now, id, Liveness::suspect, incarnation, accuser);
    suspicions_.start(step(now), id, accuser);
    view_stale_ = true;
    disseminate(now, id);
    emit({EventKind::suspect, id, accuser});
    for (const PeerId peer : suspicions_.rack_probes(step(now), rack_of(roster_, id))) probe_soon(now, peer);
}

void Membership::confirm(TimePoint now, PeerId id, PeerId accuser) {
    if (!suspicions_.confirm(step(now), id, accuser)) return;
    roster_.set_accuser(id, accuser);
    disseminate(now, id);
}

void Membership::probe_soon(TimePoint now, PeerId suspect) {
    if (stage_ == Stage::member) prober_.probe_soon(step(now), suspect);
}

void Membership::judge_dead(TimePoint now, PeerId id, Incarnation incarnation, PeerId accuser) {
    if (!suspicions_.is_deferrable(step(now), id)) {
        mark_dead(now, id, incarnation, accuser);
        return;
    }
    const bool was_alive = roster_.find(id)->liveness == Liveness::alive;
    roster_.set_liveness(now, id, Liveness::suspect, incarnation, accuser);
    suspicions_.defer(step(now), id);
    view_stale_ = true;
    if (was_alive) emit({EventKind::suspect, id, accuser});
    judge_rack(now, rack_of(roster_, id));
}

void Membership::judge_rack(TimePoint now, const std::string& rack) {
    mark_deferred_dead(now, suspicions_.take_decided(step(now), rack));
}

void Membership::mark_deferred_dead(TimePoint now, const std::vector<PeerId>& peers) {
    if (peers.size() > 1) emit({EventKind::rack_down, peers.front()});
    for (const PeerId id : peers) {
        const Peer& peer = *roster_.find(id);
        mark_dead(now, id, peer.incarnation, peer.accuser);
    }
}

void Membership::mark_dead(TimePoint now, PeerId id, Incarnation incarnation, PeerId accuser) {
    if (config_.mutant == Mutant::wrong_incarnation) ++incarnation.value;
    timers_.cancel({TimerKind::suspicion, id.value});
    timers_.set({TimerKind::lost, id.value}, now + config_.lost_after);
    suspicions_.end(id);
    channels_.forget(id);
    roster_.set_liveness(now, id, Liveness::dead, incarnation, accuser);
    loads_.drop(id);
    view_stale_ = true;
    outbox_.updates().drop_state(id);
    disseminate(now, id);
    emit({EventKind::dead, id, accuser});
    bound_tombstones();
}

void Membership::mark_lost(TimePoint now, PeerId id) {
    const bool was_held = losses_.is_held();
    const bool held = losses_.update(roster_);
    if (held != was_held) emit({held ? EventKind::losses_held : EventKind::losses_released, self()});
    if (held && !LossHold::has_live_namesake(roster_, id)) {
        timers_.set({TimerKind::lost, id.value}, now + config_.lost_after / 6);
        return;
    }
    const Peer& peer = *roster_.find(id);
    roster_.set_liveness(now, id, Liveness::lost, peer.incarnation, peer.accuser);
    timers_.set({TimerKind::forget, id.value}, now + config_.lost_retention);
    view_stale_ = true;
    emit({EventKind::lost, id});
    for (const PeerId ghost : NameClaim::spare_ghosts(roster_, id)) forget(ghost);
}

void Membership::mark_alive(TimePoint now, PeerId id, Incarnation incarnation) {
    const Liveness before = roster_.find(id)->liveness;
    suspicions_.end(id);
    roster_.set_liveness(now, id, Liveness::alive, incarnation);
    for (const TimerKind kind : {TimerKind::suspicion, TimerKind::lost, TimerKind::forget})
        timers_.cancel({kind, id.value});
    view_stale_ = true;
    disseminate(now, id);
    if (before == Liveness::alive) return;
    emit({EventKind::alive, id});
    if (before == Liveness::suspect)
        judge_rack(now, rack_of(roster_, id));
    else
        check_name(now, id);
}

void Membership::mark_left(TimePoint now, PeerId id, Incarnation incarnation) {
    for (const TimerKind kind : {TimerKind::suspicion, TimerKind::lost}) timers_.cancel({kind, id.value});
    timers_.set({TimerKind::forget, id.value}, now + config_.left_retention);
    suspicions_.end(id);
    channels_.forget(id);
    roster_.set_liveness(now, id, Liveness::left, incarnation);
    loads_.drop(id);
    view_stale_ = true;
    outbox_.updates().drop_state(id);
    disseminate(now, id);
    emit({EventKind::left, id});
    judge_rack(now, rack_of(roster_, id));
    bound_tombstones();
}

void Membership::replace_instance(TimePoint now, const wire::Header& header) {
    const PeerId id = header.sender;
    roster_.replace_instance(now, id, header.instance, header.incarnation);
    end_instance(now, id);
    view_stale_ = true;
    emit({EventKind::joined, id});
    check_name(now, id);
    schedule_gossip(now);
}

// What was known of a peer's earlier instance, except what the roster holds, is of no use to the next one.
void Membership::end_instance(TimePoint now, PeerId id) {
    for (const TimerKind kind : {TimerKind::suspicion, TimerKind::lost, TimerKind::forget})
        timers_.cancel({kind, id.value});
    suspicions_.end(id);
    channels_.forget(id);
    outbox_.updates().drop(id);
    loads_.drop(id);
    judge_rack(now, rack_of(roster_, id));
}

void Membership::leave_view(TimePoint now, PeerId id) {
    roster_.take_out_of_view(id);
    timers_.set({TimerKind::forget, id.value}, now + config_.left_retention);
    view_stale_ = true;
    emit({EventKind::forgotten, id});
}

void Membership::forget(PeerId id) {
    suspicions_.end(id);
    for (const TimerKind kind : {TimerKind::suspicion, TimerKind::lost, TimerKind::forget})
        timers_.cancel({kind, id.value});
    const Peer& peer = *roster_.find(id);
    if (peer.liveness != Liveness::left) bootstrap_.remember(peer.record->gossip);
    outbox_.updates().drop(id);
    loads_.drop(id);
    if (!peer.out_of_view) emit({EventKind::forgotten, id});
    roster_.forget(id);
    view_stale_ = true;
}

void Membership::bound_tombstones() {
    while (const auto oldest = roster_.oldest_tombstone(config_.tombstones_max)) forget(*oldest);
}

void Membership::stop() {
    stage_ = Stage::over;
    timers_.clear();
    outbox_.updates().clear();
    pulls_.clear();
    prober_.stop();
}

}  // namespace exa::membership
