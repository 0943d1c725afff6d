// ProcessFaults: what happens to a peer's process: it crashes, leaves, stops for a while, gets slow, or starts under
// the name of another one.
#pragma once

#include <functional>
#include <utility>

#include "sim/cluster/cluster.h"
#include "sim/faults/fault_family.h"

namespace exa::sim {

class ProcessFaults final : public FaultFamily {
  public:
    explicit ProcessFaults(Cluster& cluster) : cluster_(cluster) {}

    // Called for a host that starts again without its disk.
    void on_wipe(std::function<void(Host)> wipe_kv) { wipe_kv_ = std::move(wipe_kv); }

    bool needs_up(FaultKind kind) const override { return kind != FaultKind::slow; }
    WorldTime begin(Injection& injection) override;
    Ending end(Injection& injection) override;

  private:
    void begin_at(Host host, Injection& injection);
    void end_at(Host host, const Fault& fault);
    void crash(Host host, Injection& injection);
    void steal_name(Host host, Injection& injection);

    Cluster& cluster_;
    std::function<void(Host)> wipe_kv_;
};

}  // namespace exa::sim
