// NetworkFaults: what happens to datagrams and links on their way: cuts, loss, duplicates, reordering, damage, delay,
// clogged and narrow lines. Each is one rule of the network, or two where both directions are hit.
#pragma once

#include "sim/cluster/cluster.h"
#include "sim/faults/fault_family.h"

namespace exa::sim {

class NetworkFaults final : public FaultFamily {
  public:
    NetworkFaults(const Scenario& scenario, Cluster& cluster) : scenario_(scenario), cluster_(cluster) {}

    WorldTime begin(Injection& injection) override;
    Ending end(Injection& injection) override;

  private:
    Rule rule(const Injection& injection) const;

    const Scenario& scenario_;
    Cluster& cluster_;
};

}  // namespace exa::sim
