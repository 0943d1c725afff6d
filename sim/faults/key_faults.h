// KeyFaults: an operator rotates the cluster's keys in the middle of everything else.
#pragma once

#include "sim/cluster/cluster.h"
#include "sim/faults/fault_family.h"

namespace exa::sim {

class KeyFaults final : public FaultFamily {
  public:
    explicit KeyFaults(Cluster& cluster) : cluster_(cluster) {}

    bool needs_up(FaultKind) const override { return true; }
    WorldTime begin(Injection& injection) override;
    // A rotation is not taken back.
    Ending end(Injection&) override { return {}; }

  private:
    Cluster& cluster_;
};

}  // namespace exa::sim
