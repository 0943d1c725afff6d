#include "sim/faults/clock_faults.h"

namespace exa::sim {

WorldTime ClockFaults::begin(Injection& injection) {
    for (const Host host : injection.hosts) {
        ++injection.effects;
        if (injection.fault.kind == FaultKind::clock_jump)
            cluster_.jump_clock(host, injection.fault.time);
        else
            cluster_.set_drift(host, injection.fault.ppm);
    }
    return injection.until;
}

Ending ClockFaults::end(Injection& injection) {
    for (const Host host : injection.hosts) {
        if (injection.fault.kind == FaultKind::clock_jump)
            cluster_.jump_clock(host, -injection.fault.time);
        else
            cluster_.set_drift(host, 0);
    }
    return {.heals = true};
}

}  // namespace exa::sim
