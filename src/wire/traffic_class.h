// TrafficClass: what goes before what where a host's bytes wait for the line. Links order their frames by it, and the
// simulator its hosts' lines.
#pragma once

#include <cstdint>

#include "base/mutant.h"

namespace exa::wire {

enum class TrafficClass : std::uint8_t {
    datagram,  // gossip
    control,   // membership's messages over links; credit, cancels and pings
    data,      // requests and answers
    bulk,      // KV
};

// Whether traffic of class `a` may leave before traffic of class `b` that came earlier.
constexpr bool overtakes(TrafficClass a, TrafficClass b, Mutant mutant = Mutant::none) {
    return a < b && mutant != Mutant::control_behind_data;
}

}  // namespace exa::wire
