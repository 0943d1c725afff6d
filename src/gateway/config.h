// Config of the gateway core: the timeouts of a request at its ingress. Valid values are positive.
#pragma once

#include <chrono>

#include "base/mutant.h"
#include "base/time.h"

namespace exa::gateway {

struct Config {
    // From a stream's opening to the first part of the reply: prefill of a long prompt and the wait for a permit.
    Duration first_byte_timeout = std::chrono::seconds(120);
    // Between two parts of a reply. The whole has no limit.
    Duration idle_timeout = std::chrono::seconds(60);
    // How long an attempt may be silent on a suspect peer before it moves to another replica; before its client has
    // anything of it, from when the suspicion was seen. At a dead peer there is nothing to wait for.
    Duration suspect_timeout = std::chrono::milliseconds(300);
    // Simulator only: a defect that an oracle must catch (docs/simulator.md).
    Mutant mutant = Mutant::none;
};

}  // namespace exa::gateway
