// RingPool: one ring for all who come to the same members. Peers that live in one process, as in the simulator, then
// draw and keep each circle once instead of once a peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "ring/ring.h"

namespace exa::ring {

// For one thread. Keeps no ring alive.
class RingPool {
  public:
    // As the constructor of Ring, or the same ring again.
    std::shared_ptr<const Ring> get(std::span<const RingMember> members, const Ring* before);
    // Rings that somebody holds, and some that nobody holds any more.
    std::size_t size() const { return rings_.size(); }

  private:
    std::map<std::uint64_t, std::weak_ptr<const Ring>> rings_;  // by digest
    std::size_t sweep_at_ = 64;
};

}  // namespace exa::ring
