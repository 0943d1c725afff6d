// StorageFaults: what happens to disks: they are full, lie about a sync, damage what is read, get slow; and what
// happens to KV segments on them.
#pragma once

#include <functional>
#include <utility>

#include "sim/cluster/cluster.h"
#include "sim/faults/fault_family.h"

namespace exa::sim {

class StorageFaults final : public FaultFamily {
  public:
    explicit StorageFaults(Cluster& cluster) : cluster_(cluster) {}

    // How much came of a fault of KV segments at a host.
    void on_kv_fault(std::function<std::uint64_t(Host, const Fault&)> harm_kv) { harm_kv_ = std::move(harm_kv); }

    WorldTime begin(Injection& injection) override;
    Ending end(Injection& injection) override;

  private:
    Cluster& cluster_;
    std::function<std::uint64_t(Host, const Fault&)> harm_kv_;
};

}  // namespace exa::sim
