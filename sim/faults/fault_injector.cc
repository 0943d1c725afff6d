#include "sim/faults/fault_injector.h"

#include <algorithm>

#include "base/check.h"

namespace exa::sim {

FaultInjector::FaultInjector(const Scenario& scenario, Cluster& cluster, Oracles& oracles)
    : scenario_(scenario),
      cluster_(cluster),
      oracles_(oracles),
      network_(scenario, cluster),
      processes_(cluster),
      clocks_(cluster),
      disks_(cluster),
      keys_(cluster),
      names_(cluster),
      packets_(scenario, cluster),
      effects_(scenario.plan.size()) {
    for (std::size_t entry = 0; entry < scenario.plan.size(); ++entry)
        rngs_.push_back(cluster.streams().stream("fault", entry));
    cluster.handle_with(EventKind::fault, [this](const Event& event) { begin(event); });
    cluster.handle_with(EventKind::heal, [this](const Event& event) { end(event); });
}

void FaultInjector::start() {
    for (std::size_t entry = 0; entry < scenario_.plan.size(); ++entry) {
        const Fault& fault = scenario_.plan[entry];
        for (std::uint32_t time = 0; time < fault.times; ++time)
            cluster_.push(WorldTime{fault.at + fault.every * time}, EventKind::fault, 0, entry);
    }
}

std::map<std::string, std::uint64_t> FaultInjector::effects_by_kind() const {
    std::map<std::string, std::uint64_t> sums;
    for (std::size_t entry = 0; entry < effects_.size(); ++entry)
        sums[std::string(to_string(scenario_.plan[entry].kind))] += effects_[entry];
    return sums;
}

FaultFamily& FaultInjector::family_of(FaultKind kind) {
    switch (kind) {
        case FaultKind::crash:
        case FaultKind::leave:
        case FaultKind::pause:
        case FaultKind::slow:
        case FaultKind::name_steal:
            return processes_;
        case FaultKind::clock_jump:
        case FaultKind::drift:
            return clocks_;
        case FaultKind::cut:
        case FaultKind::cut_udp:
        case FaultKind::cut_link:
        case FaultKind::loss:
        case FaultKind::duplicate:
        case FaultKind::reorder:
        case FaultKind::corrupt:
        case FaultKind::delay:
        case FaultKind::clog:
        case FaultKind::bandwidth:
            return network_;
        case FaultKind::disk_full:
        case FaultKind::disk_lies:
        case FaultKind::disk_corrupt:
        case FaultKind::disk_slow:
        case FaultKind::kv_rot:
        case FaultKind::kv_misdirect:
            return disks_;
        case FaultKind::garbage:
        case FaultKind::replay:
        case FaultKind::forge:
        case FaultKind::oversize:
            return packets_;
        case FaultKind::load:
        case FaultKind::disconnect:
            return clients_;
        case FaultKind::key_add:
        case FaultKind::key_use:
        case FaultKind::key_remove:
            return keys_;
        case FaultKind::names_down:
        case FaultKind::names_itself:
        case FaultKind::names_turn:
            return names_;
    }
    EXA_CHECK(false);
}

std::vector<Host> FaultInjector::pick(std::size_t entry) {
    const Fault& fault = scenario_.plan[entry];
    Rng& rng = rngs_[entry];
    if (!fault.hosts.empty()) return fault.hosts;
    std::vector<Host> candidates;
    const bool needs_up = family_of(fault.kind).needs_up(fault.kind);
    for (Host host = 0; host < cluster_.size(); ++host)
        if (!needs_up || cluster_.peer(host).is_up()) candidates.push_back(host);
    if (fault.rack != -1) {
        const auto racks = (cluster_.size() + scenario_.cluster.rack_size - 1) / scenario_.cluster.rack_size;
        const std::uint64_t rack = fault.rack >= 0 ? static_cast<std::uint64_t>(fault.rack) : rng.below(racks);
        std::erase_if(candidates, [&](Host host) { return host / scenario_.cluster.rack_size != rack; });
        return candidates;
    }
    std::size_t wanted = candidates.size();
    if (fault.count > 0)
        wanted = fault.count;
    else if (fault.share > 0)
        wanted = static_cast<std::size_t>(fault.share * static_cast<double>(cluster_.size()) + 0.5);
    else
        return candidates;
    wanted = std::min(wanted, candidates.size());
    for (std::size_t i = 0; i < wanted; ++i) std::swap(candidates[i], candidates[i + rng.below(candidates.size() - i)]);
    candidates.resize(wanted);
    std::ranges::sort(candidates);
    return candidates;
}

void FaultInjector::begin(const Event& event) {
    if (frozen_) return;
    const auto entry = static_cast<std::size_t>(event.arg);
    const Fault& fault = scenario_.plan[entry];
    Injection injection{.fault = fault, .hosts = pick(entry), .rng = rngs_[entry], .effects = effects_[entry]};
    if (fault.lasts > Duration{0}) injection.until = cluster_.now() + fault.lasts;
    const std::uint64_t number = next_active_++;
    const WorldTime end_at = family_of(fault.kind).begin(injection);
    if (end_at != world_never) cluster_.push(end_at, EventKind::heal, 0, number);
    active_.emplace(number, std::move(injection));
}

void FaultInjector::end(const Event& event) {
    if (frozen_) return;
    const auto at = active_.find(event.arg);
    if (at == active_.end()) return;
    const Ending ending = family_of(at->second.fault.kind).end(at->second);
    if (ending.again != world_never) {
        cluster_.push(ending.again, EventKind::heal, 0, event.arg);
        return;
    }
    if (ending.heals) oracles_.on_heal(cluster_.now());
    if (ending.reunites) oracles_.on_reunion(cluster_.now());
    active_.erase(at);
}

}  // namespace exa::sim
