// Bootstrap: how a peer finds its cluster, and finds the rest of it again after a partition.
//
// A joining peer pings its seeds until one answers; the first full comparison with a member then makes it joined. From
// then on it dials, once each redial_interval and for good, one dead peer and one address at which a member may be: a
// seed's, or that of a peer so long gone that it is forgotten. An answer refutes the death, and a comparison follows.
//
// Timers: seeds -> dial_seeds(); redial -> redial().
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/endpoint.h"
#include "base/time.h"
#include "membership/step.h"

namespace exa::membership {

class Bootstrap {
  public:
    explicit Bootstrap(TimePoint now) : join_sync_from_(now), heal_sync_from_(now) {}

    bool is_joined() const { return joined_; }

    // Gossip addresses of some members, and maybe our own. They replace the seeds of an earlier call. All are dialled
    // at once. Without a seed we are the first peer of the cluster.
    Effects join(const Step& step, std::vector<Endpoint> seeds);
    // Our first comparison is complete.
    Effects complete_join(const Step& step);
    Effects dial_seeds(const Step& step);
    Effects redial(const Step& step);
    // The packet from `seed` was our own: it is not worth another try.
    Effects drop_own_address(const Step& step, const Endpoint& seed);
    // A dead peer was forgotten: its address is remembered.
    void remember(const Endpoint& endpoint);

    // A live member spoke while we have not joined: true when we should compare with it now.
    bool take_join_sync(const Step& step);
    // A member that was dead or unknown answered: most likely a whole side of the cluster is back with it. True when we
    // should compare with it now.
    bool take_heal_sync(const Step& step);

  private:
    void find_others(const Step& step);

    bool joined_ = false;
    std::vector<Endpoint> seeds_;
    Duration seed_wait_{0};
    TimePoint join_sync_from_;
    TimePoint heal_sync_from_;
    std::deque<Endpoint> earlier_;      // gossip addresses of lost and forgotten peers, oldest first
    std::vector<Endpoint> others_;      // of those and the seeds, what was no live peer's address in others_version_
    std::uint64_t others_version_ = 0;  // of the roster's live peers; 0: never looked
};

}  // namespace exa::membership
