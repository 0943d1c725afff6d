#include "sim/faults/network_faults.h"

#include <utility>

namespace exa::sim {

namespace {

RuleKind rule_kind(FaultKind kind) {
    switch (kind) {
        case FaultKind::cut_udp:
            return RuleKind::cut_udp;
        case FaultKind::cut_link:
            return RuleKind::cut_link;
        case FaultKind::loss:
            return RuleKind::loss;
        case FaultKind::duplicate:
            return RuleKind::duplicate;
        case FaultKind::reorder:
            return RuleKind::reorder;
        case FaultKind::corrupt:
            return RuleKind::corrupt;
        case FaultKind::delay:
            return RuleKind::delay;
        case FaultKind::clog:
            return RuleKind::clog;
        case FaultKind::bandwidth:
            return RuleKind::bandwidth;
        default:
            return RuleKind::cut;
    }
}

bool is_cut(FaultKind kind) {
    return kind == FaultKind::cut || kind == FaultKind::cut_udp || kind == FaultKind::cut_link;
}

}  // namespace

Rule NetworkFaults::rule(const Injection& injection) const {
    const Fault& fault = injection.fault;
    Rule rule;
    rule.kind = rule_kind(fault.kind);
    rule.chance = fault.chance;
    rule.time = fault.time;
    rule.rate = fault.rate;
    // What does not end before the liveness phase does not end.
    const bool ends = fault.kind != FaultKind::bandwidth || injection.until <= WorldTime{scenario_.duration};
    rule.until = ends ? injection.until : world_never;
    rule.from.resize(cluster_.size());
    rule.to.resize(cluster_.size());
    for (const Host host : injection.hosts) rule.from[host] = 1;
    if (!fault.to.empty()) {
        for (const Host host : fault.to) rule.to[host] = 1;
    } else if (is_cut(fault.kind) && (fault.kind == FaultKind::cut || injection.hosts.size() < cluster_.size())) {
        for (Host host = 0; host < cluster_.size(); ++host) rule.to[host] = rule.from[host] == 0 ? 1 : 0;
    } else {
        rule.to.assign(cluster_.size(), 1);
    }
    return rule;
}

WorldTime NetworkFaults::begin(Injection& injection) {
    const Fault& fault = injection.fault;
    Rule forward = rule(injection);
    injection.rules.push_back(cluster_.network().add(forward, &injection.effects));
    if (fault.one_way || fault.kind == FaultKind::bandwidth || forward.from == forward.to) return injection.until;
    std::swap(forward.from, forward.to);
    // A path inside the chosen set must not count twice.
    if (fault.to.empty() && !is_cut(fault.kind))
        for (const Host host : injection.hosts) forward.from[host] = 0;
    injection.rules.push_back(cluster_.network().add(std::move(forward), &injection.effects));
    return injection.until;
}

Ending NetworkFaults::end(Injection& injection) {
    for (const std::uint32_t number : injection.rules) cluster_.network().remove(number);
    return {.heals = true, .reunites = true};
}

}  // namespace exa::sim
