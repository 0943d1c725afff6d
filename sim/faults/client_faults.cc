#include "sim/faults/client_faults.h"

namespace exa::sim {

WorldTime ClientFaults::begin(Injection& injection) {
    if (injection.fault.kind == FaultKind::load && factor_) {
        ++injection.effects;
        factor_(injection.fault.rate);
    }
    if (injection.fault.kind == FaultKind::disconnect && disconnect_)
        injection.effects += disconnect_(injection.fault.chance);
    return injection.until;
}

Ending ClientFaults::end(Injection& injection) {
    if (injection.fault.kind == FaultKind::load && factor_) factor_(1);
    return {};
}

}  // namespace exa::sim
