#include "sim/checks/detection_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace exa::sim {

using Told = membership::EventKind;

bool is_excused(const CheckContext& context, WorldTime now, const Peer& peer, Duration bound) {
    return !peer.is_punctual() || context.cluster.network().is_cut(peer.host) ||
           (peer.resumed_at > WorldTime{} && now - peer.resumed_at < bound);
}

DetectionChecker::Spread DetectionChecker::spread_from(WorldTime now) const {
    Spread spread{.at = now, .first = {}};
    spread.waiting.resize(context_.cluster.size());
    return spread;
}

DetectionChecker::Changes& DetectionChecker::changes_of(std::size_t number) {
    if (changes_.size() <= number) changes_.resize(number + 1);
    return changes_[number];
}

void DetectionChecker::on_up(WorldTime now, const Peer& peer, std::size_t number) {
    Changes& changes = changes_of(number);
    changes.ending.reset();
    Spread birth = spread_from(now);
    for (Host other = 0; other < context_.cluster.size(); ++other) {
        if (other == peer.host || !context_.cluster.peer(other).is_up()) continue;
        birth.waiting[other] = 1;
        ++birth.left;
    }
    if (birth.left > 0 && now >= WorldTime{context_.scenario.measure_from}) changes.birth = std::move(birth);
}

void DetectionChecker::on_down(WorldTime now, const Peer& peer, std::size_t number) {
    drop_observer(peer.host);
    Changes& changes = changes_of(number);
    changes.birth.reset();
    Spread ending = spread_from(now);
    const Subject& subject = context_.truth.subject(number);
    for (Host other = 0; other < context_.cluster.size(); ++other) {
        if (other == peer.host || !context_.cluster.peer(other).is_up()) continue;
        const Opinion& opinion = context_.truth.opinion(other, number);
        if (!opinion.known || !subject.is_in(opinion) || !is_live(opinion.liveness)) continue;
        ending.waiting[other] = 1;
        ++ending.left;
    }
    if (ending.left > 0 && context_.is_measuring) changes.ending = std::move(ending);
}

void DetectionChecker::drop_observer(Host host) {
    for (Changes& changes : changes_) {
        for (std::optional<Spread>* spread : {&changes.ending, &changes.birth}) {
            if (!*spread || (*spread)->waiting[host] == 0) continue;
            (*spread)->waiting[host] = 0;
            if (--(*spread)->left == 0) spread->reset();
        }
    }
}

void DetectionChecker::on_event(WorldTime now, const Peer& observer, std::size_t number,
                                const membership::Event& event) {
    if (!context_.truth.subject(number).is_in(event)) return;
    Changes& changes = changes_of(number);
    if (event.kind == Told::joined || event.kind == Told::alive)
        heard(now, changes.birth, observer.host, false);
    else if (event.kind == Told::dead || event.kind == Told::left)
        heard(now, changes.ending, observer.host, true);
}

void DetectionChecker::heard(WorldTime now, std::optional<Spread>& spread, Host observer, bool is_ending) {
    if (!spread || spread->waiting[observer] == 0) return;
    spread->waiting[observer] = 0;
    if (!spread->first) spread->first = now;
    if (--spread->left > 0) return;
    const double all = seconds_of(now - spread->at);
    Measured& measured = context_.measured;
    if (is_ending) {
        measured.detect_first.push_back(seconds_of(*spread->first - spread->at));
        measured.detect_all.push_back(all);
        measured.spread.push_back(seconds_of(now - *spread->first));
    } else {
        measured.join_all.push_back(all);
    }
    spread.reset();
}

std::string DetectionChecker::waiting_for(WorldTime now, const Peer& late, std::size_t number) const {
    const membership::Peer* peer = late.node->membership().roster().find(context_.truth.subject(number).id);
    if (peer == nullptr) return "which does not know that peer";
    const bool is_suspect = peer->liveness == membership::Liveness::suspect;
    const WorldTime due = late.clock.when(late.node->next_timeout());
    return fmt::format("which takes it for {} and waits for {}; its next timer is due in {:.1f} s",
                       is_suspect ? "suspect" : "alive",
                       is_suspect ? "the suspicion to run out" : "a probe of its own to fail, or for others' word",
                       due == world_never ? 0.0 : seconds_of(due - now));
}

void DetectionChecker::sweep(WorldTime now) {
    for (std::size_t number = 0; number < changes_.size(); ++number) {
        std::optional<Spread>& ending = changes_[number].ending;
        if (!ending || ending->overdue) continue;
        if (now - std::max(ending->at, context_.last_heal) <= bound_) continue;
        std::uint32_t late = 0;
        Host one = 0;
        for (Host host = 0; host < context_.cluster.size(); ++host) {
            if (ending->waiting[host] == 0 || is_excused(context_, now, context_.cluster.peer(host), bound_)) continue;
            ++late;
            one = host;
        }
        if (late == 0) continue;
        ending->overdue = true;
        violate("M2",
                fmt::format("{:.1f} s after {} went down, {} peers do not know it, one of them peer {}, {}",
                            seconds_of(now - ending->at), context_.truth.name(number), late, one,
                            waiting_for(now, context_.cluster.peer(one), number)),
                one);
    }
}

}  // namespace exa::sim
