// PacketChecker: S1, nobody but a member changes a peer; S2, nor does what a peer has heard before.
#pragma once

#include <optional>

#include "sim/checks/checker.h"
#include "sim/checks/fingerprint.h"

namespace exa::sim {

class PacketChecker final : public Checker {
  public:
    using Checker::Checker;

    void before_stranger(const Peer& peer) override;
    void after_stranger(const Peer& peer, Origin origin, bool taken) override;

  private:
    std::optional<Fingerprint> before_;
};

}  // namespace exa::sim
