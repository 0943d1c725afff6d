// NameFaults: the name service fails for some hosts, or tells them less than the truth.
#pragma once

#include "sim/cluster/cluster.h"
#include "sim/faults/fault_family.h"

namespace exa::sim {

class NameFaults final : public FaultFamily {
  public:
    explicit NameFaults(Cluster& cluster) : cluster_(cluster) {}

    WorldTime begin(Injection& injection) override;
    Ending end(Injection& injection) override;

  private:
    Cluster& cluster_;
};

}  // namespace exa::sim
