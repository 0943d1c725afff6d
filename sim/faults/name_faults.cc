#include "sim/faults/name_faults.h"

namespace exa::sim {

namespace {

NameFault fault_of(FaultKind kind) {
    if (kind == FaultKind::names_down) return NameFault::down;
    return kind == FaultKind::names_itself ? NameFault::itself : NameFault::in_turn;
}

}  // namespace

WorldTime NameFaults::begin(Injection& injection) {
    for (const Host host : injection.hosts) cluster_.names().set(host, fault_of(injection.fault.kind));
    injection.effects += cluster_.config().named_seeds ? injection.hosts.size() : 0;
    return injection.until;
}

Ending NameFaults::end(Injection& injection) {
    for (const Host host : injection.hosts) cluster_.names().set(host, NameFault::none);
    return {.heals = true};
}

}  // namespace exa::sim
