#include "sim/faults/key_faults.h"

namespace exa::sim {

namespace {

Cluster::KeyStep step_of(FaultKind kind) {
    if (kind == FaultKind::key_add) return Cluster::KeyStep::add;
    return kind == FaultKind::key_use ? Cluster::KeyStep::use : Cluster::KeyStep::remove;
}

}  // namespace

WorldTime KeyFaults::begin(Injection& injection) {
    for (const Host host : injection.hosts)
        injection.effects +=
            cluster_.order_keys(host, step_of(injection.fault.kind)) != injection.fault.is_refused ? 1 : 0;
    return injection.until;
}

}  // namespace exa::sim
