// How a Membership merges what others say, and compares itself with one of them in full.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "membership/digest_comparison.h"
#include "membership/membership.h"

namespace exa::membership {

namespace {

// Corrections sent to the sender of one packet.
constexpr std::size_t corrections_max = 16;

bool is_accusation(const wire::Fact& fact) {
    return fact.state == wire::MemberState::suspect || fact.state == wire::MemberState::dead;
}

}  // namespace

bool Membership::accept_sender(TimePoint now, const wire::Header& header) {
    if (const Peer* peer = roster_.find(header.sender); peer != nullptr && config_.mutant == Mutant::replay_is_news)
        mark_alive(now, header.sender, {peer->incarnation.value + 1});
    switch (IdentityGuard::check_sender(roster_, header)) {
        case IdentityGuard::Sender::accepted:
            return true;
        case IdentityGuard::Sender::refuted:
            mark_alive(now, header.sender, header.incarnation);
            return true;
        case IdentityGuard::Sender::in_doubt:
            ++counters_.stale;
            check_instance(now, header.sender, header.generation, header.instance);
            return false;
        case IdentityGuard::Sender::stale:
            ++counters_.stale;
            return false;
    }
    return false;
}

// It may not know that a later instance runs: our update about its liveness and our stub of its record tell it.
void Membership::answer_earlier_instance(TimePoint now, const Endpoint& at, PeerId sender) {
    wire::Packet reply = make_packet(wire::PacketKind::gossip, 0, sender);
    reply.facts.push_back(roster_.fact(sender));
    if (auto stub = roster_.stub(sender)) reply.records.push_back(std::move(*stub));
    send(now, {at, std::nullopt, std::move(reply)});
}

bool Membership::check_own(TimePoint now, PeerId teller, Generation generation, std::uint32_t instance) {
    const auto own = IdentityGuard::check_own(roster_, generation, instance);
    if (own == IdentityGuard::Own::ours) return true;
    if (own == IdentityGuard::Own::earlier || stage_ == Stage::over) return false;
    // The instance that the cluster has taken in already stays, unless a newer one has come up beside it.
    const bool refuse = generation > record().generation || !bootstrap_.is_joined();
    if (refuse && !identity_.is_confirmed(now, generation, counters_.packets_in + counters_.syncs_in)) {
        // Whoever says so is asked to say it again.
        if (is_live(teller))
            send(now, {roster_.find(teller)->record->gossip, std::nullopt,
                       make_packet(wire::PacketKind::ping, numbers_.next(), teller)});
        return false;
    }
    if (identity_.report(self(), instance)) outbox_.push({EventKind::id_conflict, self(), generation, {}, refuse});
    if (refuse) stop();
    return false;
}

void Membership::check_instance(TimePoint now, PeerId id, Generation generation, std::uint32_t instance) {
    if (identity_.report(id, instance)) outbox_.push({EventKind::id_conflict, id, generation, {}, false});
    if (stage_ == Stage::member) carry_out(now, identity_.challenge(step(now), id));
}

void Membership::check_name(TimePoint now, PeerId id) {
    const auto conflict = NameClaim::check(roster_, id, config_.mutant);
    if (!conflict || stage_ != Stage::member) return;
    if (conflict->yields == self())
        carry_out(now, name_.ask(step(now), conflict->holder));
    else
        emit({EventKind::name_conflict, conflict->yields, conflict->holder, false});
}

void Membership::claim_name(TimePoint now) {
    if (record().state != wire::PeerState::starting || !bootstrap_.is_joined() || stage_ != Stage::member) return;
    if (const auto other = roster_.namesake(self())) {
        carry_out(now, name_.ask(step(now), *other));
        return;
    }
    name_.stop_asking();
    wire::PeerRecord next = record();
    next.name_claim = NameClaim::next(roster_);
    next.state = wire::PeerState::serving;
    EXA_CHECK(set_record(now, std::move(next)).has_value());
}

// While a namesake that we yield to is live it is asked; its answer ends us.
void Membership::ask_for_name(TimePoint now) {
    if (record().state == wire::PeerState::starting) return claim_name(now);
    const auto conflict = NameClaim::check(roster_, self(), config_.mutant);
    if (conflict && conflict->yields == self())
        carry_out(now, name_.ask(step(now), conflict->holder));
    else
        name_.stop_asking();
}

// The holder of our name has answered. It still has to outrank us: we may have taken over meanwhile.
void Membership::refuse_name(PeerId holder) {
    const auto conflict = NameClaim::check(roster_, self(), config_.mutant);
    if (conflict && conflict->yields == self() && conflict->holder == holder)
        emit({EventKind::name_conflict, self(), holder, true});
}

std::uint16_t Membership::name_support() const {
    return static_cast<std::uint16_t>(std::min<std::size_t>(roster_.live_count(), 0xffff));
}

void Membership::tell_name_support(TimePoint now) {
    EXA_CHECK(set_record(now, record()).has_value());
}

template <class Message>
void Membership::merge(Source& source, const Message& message) {
    for (const wire::RecordDelta& delta : message.records) {
        // A peer that is new to us must not look alive for the moment until its fact is read.
        wire::MemberState state = wire::MemberState::alive;
        for (const wire::Fact& fact : message.facts)
            if (fact.subject == delta.peer && fact.generation == delta.generation) state = fact.state;
        merge_record(source, delta, state);
        if (stage_ == Stage::over) return;
    }
    for (const wire::Fact& fact : message.facts) merge_fact(source, fact);
    for (const wire::LoadGroup& group : message.loads) merge_loads(source, group);
}

template void Membership::merge(Source&, const wire::Packet&);
template void Membership::merge(Source&, const wire::Sync&);

void Membership::merge_record(const Source& source, const wire::RecordDelta& delta, wire::MemberState state) {
    const PeerId id = delta.peer;
    if (id == self()) {
        check_own(source.now, source.from, delta.generation, delta.instance);
        return;
    }
    const Peer* known = roster_.find(id);
    if (known == nullptr && state == wire::MemberState::dead && delta.profile &&
        NameClaim::is_spare_ghost(roster_, id, *delta.profile))
        return;
    const bool was_in_view = known != nullptr && !known->out_of_view;
    const std::uint64_t base = known != nullptr ? known->record->version : 0;
    switch (roster_.apply(source.now, delta, state)) {
        case Roster::Applied::stale:
            return;
        case Roster::Applied::full:
            ++counters_.refused;
            return;
        case Roster::Applied::conflict:
            check_instance(source.now, id, delta.generation, delta.instance);
            return;
        case Roster::Applied::gap:
            pull(source, id);
            return;
        case Roster::Applied::changed:
            view_stale_ = true;
            pulls_.arrived(id);
            if (!roster_.find(id)->is_live()) return;
            if (config_.mutant == Mutant::eager_undertaker) return mark_dead(source.now, id, delta.incarnation, self());
            outbox_.updates().add_record(id, base);
            if (was_in_view) emit({EventKind::updated, id});
            if (delta.profile) check_name(source.now, id);
            schedule_gossip(source.now);
            return;
        case Roster::Applied::restarted:
            end_instance(source.now, id);
            [[fallthrough]];
        case Roster::Applied::created:
            merge_new_instance(source, delta, state);
            return;
    }
}

void Membership::merge_new_instance(const Source& source, const wire::RecordDelta& delta, wire::MemberState state) {
    const PeerId id = delta.peer;
    const Peer& peer = *roster_.find(id);
    view_stale_ = true;
    pulls_.arrived(id);
    if (peer.record->version == 0) pull(source, id);
    if (state == wire::MemberState::left) {
        timers_.set({TimerKind::forget, id.value}, source.now + config_.left_retention);
        bound_tombstones();
        return;
    }
    emit({EventKind::joined, id});
    if (state == wire::MemberState::dead) {
        mark_dead(source.now, id, peer.incarnation, source.from);
        outbox_.updates().drop(id);
        return;
    }
    if (state == wire::MemberState::suspect) suspect(source.now, id, peer.incarnation, source.from);
    check_name(source.now, id);
    // Everyone else knows already what a newcomer hears in its first comparison.
    if (bootstrap_.is_joined() || !source.compared) outbox_.updates().add_record(id, 0);
    schedule_gossip(source.now);
}

void Membership::merge_fact(Source& source, const wire::Fact& fact) {
    const PeerId id = fact.subject;
    if (id == self()) {
        merge_own_fact(source, fact);
        return;
    }
    const Peer* peer = roster_.find(id);
    if (peer == nullptr || fact.generation > peer->record->generation) {
        if (fact.state != wire::MemberState::dead && fact.state != wire::MemberState::left) pull(source, id);
        return;
    }
    const bool is_outdated =
        std::pair(fact.generation, fact.incarnation) < std::pair(peer->record->generation, peer->incarnation);
    if (is_accusation(fact) && is_outdated && peer->is_live() && !source.compared &&
        source.outdated.size() < corrections_max)
        source.outdated.push_back(id);
    if (fact.generation < peer->record->generation || peer->liveness == Liveness::left) return;
    if (fact.state == wire::MemberState::left)
        mark_left(source.now, id, std::max(fact.incarnation, peer->incarnation));
    else if (is_accusation(fact))
        merge_accusation(source, fact);
    else if (fact.incarnation > peer->incarnation)
        mark_alive(source.now, id, fact.incarnation);
}

// Of a peer that we know, in the generation that we know.
void Membership::merge_accusation(const Source& source, const wire::Fact& fact) {
    const PeerId id = fact.subject;
    const Peer* peer = roster_.find(id);
    if (fact.incarnation < peer->incarnation) return;
    const bool is_dead = fact.state == wire::MemberState::dead;
    if (!peer->is_live()) {
        if (fact.incarnation == peer->incarnation) return;
        if (is_dead) {
            roster_.set_liveness(source.now, id, peer->liveness, fact.incarnation, fact.accuser);
            view_stale_ = true;
            return;
        }
        // A peer that is suspected in a later incarnation has refuted the death that we know of.
        mark_alive(source.now, id, fact.incarnation);
    }
    // In a comparison, a death may be an old belief of the other side of a healed partition: to us it is a suspicion,
    // of which the peer is then told.
    if (is_dead && !source.compared) {
        judge_dead(source.now, id, fact.incarnation, fact.accuser);
        return;
    }
    const PeerId accuser = is_dead ? source.from : fact.accuser;
    if (peer->liveness == Liveness::suspect && peer->incarnation == fact.incarnation) {
        if (accuser != PeerId{}) confirm(source.now, id, accuser);
        return;
    }
    suspect(source.now, id, fact.incarnation, accuser);
    const double chance = static_cast<double>(config_.out_of_turn_probers) / static_cast<double>(roster_.live().size());
    if (rng_.unit() < chance) probe_soon(source.now, id);
}

// Others suspect us, or know of an instance of ours that we do not.
void Membership::merge_own_fact(const Source& source, const wire::Fact& fact) {
    const TimePoint now = source.now;
    if (fact.generation > record().generation) {
        check_own(now, source.from, fact.generation, 0);
        return;
    }
    if (fact.generation < record().generation || stage_ != Stage::member) return;
    const bool is_ahead = fact.incarnation > incarnation();
    if ((!is_accusation(fact) || fact.incarnation < incarnation()) && !is_ahead) return;
    if (config_.mutant == Mutant::lost_refutation) return;
    ++counters_.refutations;
    if (is_accusation(fact)) prober_.worsen(config_, 1);
    const Incarnation next{std::min(fact.incarnation.value + 1, wire::counter_max)};
    roster_.set_liveness(now, self(), Liveness::alive, next);
    view_stale_ = true;
    disseminate(now, self());
}

void Membership::merge_loads(const Source& source, const wire::LoadGroup& group) {
    const Peer* peer = roster_.find(group.peer);
    // Loads are sent once: those of a peer that we have not heard of yet must come again, with its record.
    if (peer == nullptr || peer->record->generation < group.generation) {
        pull(source, group.peer);
        return;
    }
    if (group.peer == self() || !peer->is_live() || peer->record->generation != group.generation) return;
    const LoadChange heard = loads_.apply(source.now, group, load_report_rule(*peer->record));
    if (heard == LoadChange::none) return;
    view_stale_ = true;
    outbox_.updates().add_load({group.peer, group.part}, heard == LoadChange::soon);
    schedule_gossip(source.now);
}

// What the header alone says: the sender is a newer instance or has a newer record than we know.
void Membership::merge_version(const Source& source, const wire::Header& header) {
    const Peer* peer = roster_.find(source.from);
    if (peer == nullptr) return;
    const auto theirs = std::pair(header.generation, header.record_version);
    if (theirs > std::pair(peer->record->generation, peer->record->version)) pull(source, source.from);
}

// A peer that accuses a refuted incarnation has missed the refutation, and would call a live peer dead: it hears of it
// now.
void Membership::correct(const Source& source, const Endpoint& at) {
    if (source.outdated.empty() || stage_ != Stage::member) return;
    wire::Packet reply = make_packet(wire::PacketKind::gossip, 0, source.from);
    for (const PeerId id : source.outdated)
        if (roster_.find(id) != nullptr) reply.facts.push_back(roster_.fact(id));
    send(source.now, {at, source.from, std::move(reply)});
}

void Membership::pull(const Source& source, PeerId peer) {
    if (stage_ == Stage::member) pulls_.add(step(source.now), source.from, peer);
}

void Membership::start_sync(TimePoint now, PeerId with, bool want_loads) {
    if (config_.mutant == Mutant::no_anti_entropy) return;
    const AntiEntropy::Opening opening{want_loads, keys_.hash()};
    send_all(anti_entropy_.open(step(now), with, opening, !bootstrap_.is_joined()));
}

void Membership::compare_digest(TimePoint now, const wire::Sync& sync) {
    const PeerId from = sync.header.sender;
    Source source{now, from, true, {}};
    DigestComparison comparison(roster_, sync);
    while (const auto fact = comparison.next(step(now))) merge_fact(source, *fact);
    send_updates(now, from, {comparison.lacking(), sync.seq, sync.want_loads, comparison.take_pulls()});
}

}  // namespace exa::membership
