// BoundsChecker: B1, everything that a peer holds or sends is bounded; B3, membership is never starved by data.
#pragma once

#include "sim/checks/checker.h"

namespace exa::sim {

class BoundsChecker final : public Checker {
  public:
    using Checker::Checker;

    void sweep(WorldTime now) override;
    // A datagram or link message as it leaves a peer.
    void check_length(Host from, bool link, std::size_t bytes);
    // Once, at the end.
    void check_totals();

  private:
    void check_sizes(const Peer& peer);
};

}  // namespace exa::sim
