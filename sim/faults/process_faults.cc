#include "sim/faults/process_faults.h"

#include <algorithm>

namespace exa::sim {

namespace {

constexpr std::chrono::milliseconds leave_poll_period{500};

}  // namespace

WorldTime ProcessFaults::begin(Injection& injection) {
    for (const Host host : injection.hosts) begin_at(host, injection);
    return injection.until;
}

void ProcessFaults::begin_at(Host host, Injection& injection) {
    const bool is_up = cluster_.peer(host).is_up();
    switch (injection.fault.kind) {
        case FaultKind::crash:
            crash(host, injection);
            break;
        case FaultKind::leave:
            injection.effects += is_up ? 1 : 0;
            cluster_.leave(host);
            break;
        case FaultKind::pause:
            injection.effects += is_up ? 1 : 0;
            cluster_.pause(host);
            break;
        case FaultKind::slow:
            ++injection.effects;
            cluster_.set_input_cost(host, injection.fault.time);
            break;
        default:
            steal_name(host, injection);
            break;
    }
}

void ProcessFaults::crash(Host host, Injection& injection) {
    injection.effects += cluster_.peer(host).boot != 0 ? 1 : 0;
    cluster_.crash(host);
    if (injection.fault.keep_disk) return;
    cluster_.wipe(host);
    if (wipe_kv_) wipe_kv_(host);
}

void ProcessFaults::steal_name(Host host, Injection& injection) {
    // Alone it has nobody to steal from: no effect.
    if (cluster_.size() < 2) return;
    const Fault& fault = injection.fault;
    const Host drawn =
        (host + 1 + static_cast<Host>(injection.rng.below(cluster_.size() - 1))) % static_cast<Host>(cluster_.size());
    const Host victim = fault.to.empty() ? drawn : fault.to.front();
    Peer& peer = cluster_.peer(host);
    injection.effects += peer.boot != 0 && cluster_.peer(victim).is_up() ? 1 : 0;
    cluster_.crash(host);
    peer.name = cluster_.peer(victim).name;
    cluster_.boot(host, cluster_.now());
}

Ending ProcessFaults::end(Injection& injection) {
    const FaultKind kind = injection.fault.kind;
    // A long answer holds a leaving peer up; it starts again when it has left.
    const auto is_draining = [this](Host host) { return cluster_.peer(host).is_draining(); };
    if (kind == FaultKind::leave && std::ranges::any_of(injection.hosts, is_draining))
        return {.again = cluster_.now() + leave_poll_period};
    for (const Host host : injection.hosts) end_at(host, injection.fault);
    // A process that starts again heals nothing: nobody was kept from knowing.
    return {.heals = kind == FaultKind::pause || kind == FaultKind::slow};
}

void ProcessFaults::end_at(Host host, const Fault& fault) {
    Peer& peer = cluster_.peer(host);
    switch (fault.kind) {
        case FaultKind::crash:
        case FaultKind::leave:
            if (peer.boot != 0) break;
            if (fault.kind == FaultKind::leave && !fault.keep_disk) cluster_.wipe(host);
            cluster_.boot(host, cluster_.now());
            break;
        case FaultKind::pause:
            cluster_.resume(host);
            break;
        case FaultKind::slow:
            cluster_.set_input_cost(host, Duration{0});
            break;
        default:
            cluster_.crash(host);
            peer.name = Cluster::name_of(host);
            cluster_.boot(host, cluster_.now());
            break;
    }
}

}  // namespace exa::sim
