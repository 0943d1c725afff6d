// ProbeOrder: whom to probe next. Each round visits every live peer once, in a fresh random order (SWIM section 4.3),
// so that the time between two probes of one peer by the same observer is bounded.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/rng.h"
#include "membership/roster.h"

namespace exa::membership {

class ProbeOrder {
  public:
    // A new peer finds a random place in what is left of this round.
    void add(PeerId peer, Rng& rng);
    // Probed before the others; at most hurried_max wait so, the rest keep their turn.
    void hurry(PeerId peer);
    bool has_hurried() const { return !hurried_.empty(); }

    // Nothing when no other peer is live.
    std::optional<PeerId> next(const Roster& roster, Rng& rng);

    static constexpr std::size_t hurried_max = 64;

  private:
    std::deque<PeerId> hurried_;
    std::vector<PeerId> order_;  // of this round, from the back
};

}  // namespace exa::membership
