#include "sim/checks/belief_checker.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/checks/detection_checker.h"

namespace exa::sim {

using Told = membership::EventKind;
using membership::Liveness;

namespace {

// A peer that was down for so long is not revived by what was still on its way, where nothing holds gossip up.
constexpr std::chrono::seconds late_gossip{15};

}  // namespace

void BeliefChecker::on_up(WorldTime, const Peer& peer, std::size_t number) {
    const Subject& subject = context_.truth.subject(number);
    // Two instances under one generation are what a lost write of the generation looks like; of a disk that lies
    // nothing else can be expected.
    if (peer.generation.value <= subject.generation && peer.disk.effects().syncs_ignored == 0)
        violate("M4", fmt::format("peer {} starts its instance {} with generation {} after {}", peer.host, peer.boot,
                                  peer.generation.value, subject.generation));
}

void BeliefChecker::on_event(WorldTime now, const Peer& observer, std::size_t number, const membership::Event& event) {
    check_newest(observer, number, event);
    switch (event.kind) {
        case Told::joined:
        case Told::alive:
            check_return(now, observer, number, event);
            break;
        case Told::suspect:
            check_suspicion(observer, number);
            break;
        case Told::dead:
            check_death(now, observer, number, event);
            check_leave(now, observer, number, event);
            break;
        default:
            break;
    }
}

void BeliefChecker::check_newest(const Peer& observer, std::size_t number, const membership::Event& event) {
    const Subject& subject = context_.truth.subject(number);
    if (event.generation.value > subject.newest)
        violate("M4", fmt::format("peer {} speaks of generation {} of {}", observer.host, event.generation.value,
                                  context_.truth.name(number)));
    const Peer& peer = context_.cluster.peer(subject.host);
    // Facts name a generation, not an instance: where a disk lied, those of the earlier instance stand until the peer
    // outbids them.
    const bool disk_lied = peer.disk.effects().syncs_ignored > 0;
    const membership::Peer* held = observer.node->membership().roster().find(event.peer);
    if (held == nullptr || disk_lied || !subject.is_in(event)) return;
    const Incarnation latest = subject.up ? peer.node->membership().incarnation() : subject.incarnation;
    if (held->incarnation > latest)
        violate("M4", fmt::format("peer {} holds incarnation {} of {}, which is at {}", observer.host,
                                  held->incarnation.value, context_.truth.name(number), latest.value));
}

// M4 of one that was dead or left. In the same instance only the peer's own word in a later incarnation brings it back:
// so it may once for each time that it refuted, however late that is read, and never by what was known when it died.
void BeliefChecker::check_return(WorldTime now, const Peer& observer, std::size_t number,
                                 const membership::Event& event) {
    const Subject& subject = context_.truth.subject(number);
    const Opinion& before = context_.truth.opinion(observer.host, number);
    if (!before.known) return;
    const auto name = [&] { return context_.truth.name(number); };
    if (!is_live(before.liveness) && before.generation == event.generation.value && before.instance == event.instance) {
        if (before.liveness == Liveness::left)
            violate("M4", fmt::format("peer {} takes {} for alive, which left", observer.host, name()));
        else if (event.incarnation <= before.ended)
            violate("M4", fmt::format("peer {} takes {} for alive in incarnation {}, which it had called dead in {}",
                                      observer.host, name(), event.incarnation.value, before.ended.value));
        else if (!subject.up && now - subject.down_at > late_gossip &&
                 !context_.cluster.network().is_cut(observer.host) && !is_gossip_held_up(now))
            violate("M4", fmt::format("peer {} takes {} for alive again, which went down {:.1f} s ago", observer.host,
                                      name(), seconds_of(now - subject.down_at)));
    }
    if (event.kind == Told::joined && event.generation.value < before.generation)
        violate("M4",
                fmt::format("peer {} goes back to generation {} of {}", observer.host, event.generation.value, name()));
}

// Somewhere gossip of long ago may still wait to be read or to be delivered, and would then spread to everybody.
bool BeliefChecker::is_gossip_held_up(WorldTime now) const {
    if (now - context_.last_heal <= late_gossip || context_.cluster.network().is_held_up()) return true;
    for (Host host = 0; host < context_.cluster.size(); ++host) {
        const Peer& peer = context_.cluster.peer(host);
        if (!peer.is_up()) continue;
        if (!peer.is_punctual() || (peer.resumed_at > WorldTime{} && now - peer.resumed_at <= late_gossip)) return true;
    }
    return false;
}

void BeliefChecker::check_death(WorldTime now, const Peer& observer, std::size_t number,
                                const membership::Event& event) {
    const Subject& subject = context_.truth.subject(number);
    if (!subject.up || !subject.is_in(event)) return;
    const Peer& peer = context_.cluster.peer(subject.host);
    const bool after_heal = context_.last_heal > WorldTime{} && now - context_.last_heal < bound_;
    const bool is_of_earlier = subject.earlier && event.incarnation <= *subject.earlier && now - subject.up_at < bound_;
    if (after_heal || is_of_earlier || peer.is_draining() || is_excused(context_, now, peer, bound_) ||
        is_excused(context_, now, observer, bound_)) {
        ++context_.measured.excused_deaths;
        return;
    }
    ++context_.measured.false_deaths;
    violate("no-false-deaths",
            fmt::format("peer {} calls {} dead, which is up", observer.host, context_.truth.name(number)));
    const auto accuser = context_.truth.find(event.other);
    if (!accuser) return;
    const Host accuser_host = context_.truth.subject(*accuser).host;
    std::set<Host>& victims = victims_[accuser_host];
    if (victims.insert(subject.host).second && victims.size() == context_.scenario.bounds.killer_victims + 1)
        violate("M5", fmt::format("peer {} alone had {} peers called dead that are up", accuser_host, victims.size()));
}

void BeliefChecker::check_leave(WorldTime now, const Peer& observer, std::size_t number,
                                const membership::Event& event) {
    const Subject& subject = context_.truth.subject(number);
    if (subject.up || !subject.left || !subject.is_in(event)) return;
    if (is_excused(context_, now, observer, bound_) || now - context_.last_heal < bound_) return;
    ++context_.measured.left_as_dead;
    violate("leave", fmt::format("peer {} calls {} dead, which left by its own word", observer.host,
                                 context_.truth.name(number)));
}

void BeliefChecker::check_suspicion(const Peer& observer, std::size_t number) {
    ++context_.measured.suspicions;
    const Subject& subject = context_.truth.subject(number);
    const Peer& peer = context_.cluster.peer(subject.host);
    // Cut or not: a peer that somebody in reach can ask for is not to be suspected.
    if (!subject.up || peer.is_draining() || !peer.is_punctual() || !observer.is_punctual()) return;
    if (++false_suspicions_ == context_.scenario.bounds.suspicions + std::uint64_t{1})
        violate("no-false-suspicions", fmt::format("peer {} suspects {}, which is up and answers", observer.host,
                                                   context_.truth.name(number)));
}

// Nobody ends itself for a name that it holds, unless it was out of touch and may have been replaced.
void BeliefChecker::check_refusal(WorldTime now, const Peer& observer, const membership::Event& event) {
    violate("no-refusals", fmt::format("peer {} refuses to serve", observer.host));
    const bool serves = observer.node->membership().record().state != wire::PeerState::starting;
    // Of two that both served while a cut lay between them, either may give the name up.
    const bool after_cut = context_.last_reunion > WorldTime{} && now - context_.last_reunion < bound_;
    if (event.kind == Told::name_conflict && serves && !after_cut && !is_excused(context_, now, observer, bound_))
        violate("holder-stays",
                fmt::format("peer {}, which held its name, gives it up to {}", observer.host, to_string(event.other)));
}

bool BeliefChecker::is_settled(const std::vector<Host>& core, std::string& why) {
    std::vector<std::uint8_t> in_core(context_.cluster.size());
    for (const Host host : core) in_core[host] = 1;
    for (const Host host : core) {
        const Peer& observer = context_.cluster.peer(host);
        if (!observer.is_up())
            why = fmt::format("M1: peer {} stopped by itself", host);
        else if (!observer.joined)
            why = fmt::format("M1: peer {} has not finished joining", host);
        else
            for (std::size_t number = 0; number < context_.truth.size() && why.empty(); ++number)
                why = missing(observer, number, in_core[context_.truth.subject(number).host] != 0);
        if (!why.empty()) return false;
    }
    return true;
}

std::string BeliefChecker::missing(const Peer& observer, std::size_t number, bool is_in_core) const {
    const Host host = observer.host;
    const Subject& subject = context_.truth.subject(number);
    if (subject.host == host && subject.up) return {};
    const Opinion& opinion = context_.truth.opinion(host, number);
    const auto name = [&] { return context_.truth.name(number); };
    if (!subject.up) {
        const bool is_believed = opinion.known && is_live(opinion.liveness);
        return is_believed ? fmt::format("M2: peer {} still takes {} for alive", host, name()) : "";
    }
    if (!is_in_core) return {};
    const Peer& peer = context_.cluster.peer(subject.host);
    if (peer.name == observer.name) return fmt::format("M4: peer {} and {} share a name", host, name());
    if (!opinion.known || opinion.liveness != Liveness::alive || !subject.is_in(opinion))
        return fmt::format("M1: peer {} does not hold {} for alive", host, name());
    const membership::Peer* held = observer.node->membership().roster().find(subject.id);
    const std::uint64_t latest = peer.node->membership().record().version;
    if (held != nullptr && held->record->version == latest) return {};
    return fmt::format("M3: peer {} holds version {} of the record of {}, which is at {}", host,
                       held != nullptr ? held->record->version : 0, name(), latest);
}

}  // namespace exa::sim
