// ClockFaults: a host's clock jumps, or runs faster or slower than the others.
#pragma once

#include "sim/cluster/cluster.h"
#include "sim/faults/fault_family.h"

namespace exa::sim {

class ClockFaults final : public FaultFamily {
  public:
    explicit ClockFaults(Cluster& cluster) : cluster_(cluster) {}

    WorldTime begin(Injection& injection) override;
    Ending end(Injection& injection) override;

  private:
    Cluster& cluster_;
};

}  // namespace exa::sim
