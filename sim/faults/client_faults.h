// ClientFaults: what clients do to the cluster: more requests than before, or they go away in the middle of many.
#pragma once

#include <functional>
#include <utility>

#include "sim/faults/fault_family.h"

namespace exa::sim {

class ClientFaults final : public FaultFamily {
  public:
    // Their rate times a factor from now on; how many of a share of the requests under way were cut.
    void drive(std::function<void(double)> factor, std::function<std::uint64_t(double)> disconnect) {
        factor_ = std::move(factor);
        disconnect_ = std::move(disconnect);
    }

    WorldTime begin(Injection& injection) override;
    Ending end(Injection& injection) override;

  private:
    std::function<void(double)> factor_;
    std::function<std::uint64_t(double)> disconnect_;
};

}  // namespace exa::sim
