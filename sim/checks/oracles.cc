#include "sim/checks/oracles.h"

#include <algorithm>

#include "membership/config.h"

namespace exa::sim {

namespace {

Duration detection_bound(const Scenario& scenario, const Cluster& cluster) {
    if (scenario.bounds.detect != Duration{0}) return scenario.bounds.detect;
    return membership::worst_detection(scenario.cluster.membership, cluster.size()) + std::chrono::seconds{2};
}

}  // namespace

Oracles::Oracles(const Scenario& scenario, Cluster& cluster)
    : truth_(cluster),
      violations_(scenario, cluster),
      context_{
          .scenario = scenario, .cluster = cluster, .truth = truth_, .violations = violations_, .measured = measured_},
      bounds_(context_),
      rings_(context_),
      detection_(context_, detection_bound(scenario, cluster)),
      beliefs_(context_, detection_bound(scenario, cluster)),
      packets_(context_) {}

void Oracles::on_up(WorldTime now, const Peer& peer) {
    const std::size_t number = truth_.number_of(peer);
    for (Checker* checker : checkers_) checker->on_up(now, peer, number);
    truth_.note_up(now, peer);
}

void Oracles::on_down(WorldTime now, const Peer& peer) {
    const std::size_t number = truth_.number_of(peer);
    for (Checker* checker : checkers_) checker->on_down(now, peer, number);
    truth_.note_down(now, peer);
}

void Oracles::on_told(WorldTime now, const Peer& observer, const membership::Event& event) {
    if (event.refuse) beliefs_.check_refusal(now, observer, event);
    const auto number = truth_.find(event.peer);
    if (!number || event.peer == observer.id) return;
    for (Checker* checker : checkers_) checker->on_event(now, observer, *number, event);
    truth_.note_event(observer.host, *number, event);
    for (Checker* checker : checkers_) checker->after_event(observer, *number, event);
}

void Oracles::before_stranger(const Peer& peer) {
    for (Checker* checker : checkers_) checker->before_stranger(peer);
}

void Oracles::after_stranger(WorldTime, const Peer& peer, Origin origin, bool taken) {
    for (Checker* checker : checkers_) checker->after_stranger(peer, origin, taken);
}

void Oracles::sweep(WorldTime now) {
    for (Checker* checker : checkers_) checker->sweep(now);
}

bool Oracles::is_settled(const std::vector<Host>& core, std::string& why) {
    why.clear();
    return std::ranges::all_of(checkers_, [&](Checker* checker) { return checker->is_settled(core, why); });
}

}  // namespace exa::sim
