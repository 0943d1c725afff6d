// NameClaim: how a peer comes by its name, and when it gives it up (docs/decisions/0035-names.md).
//
// A record carries its claim to its name: 0 until the peer holds it, then one more than any claim to that name that it
// knew of. So whoever replaces a dead peer outranks it, should that one come back. Of equal claims, which only clusters
// that were apart can make, the one that was made among more peers wins, and then the lower id. All peers order the
// same two records alike.
//
// A newcomer with a live namesake asks that one. When it answers, the newcomer must not serve. When it does not, the
// newcomer waits until the cluster calls it dead (at the namesake's own address that is what a new disk looks like),
// and then takes its place. A peer that holds its name gives it up only to a namesake that outranks it and has itself
// confirmed that: no word of others ends a peer that serves.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/mutant.h"
#include "base/time.h"
#include "membership/step.h"
#include "wire/gossip.h"

namespace exa::membership {

class NameClaim {
  public:
    struct Conflict {
        PeerId yields;
        PeerId holder;
    };

    // Of `peer` and its live namesake, if it has one.
    static std::optional<Conflict> check(const Roster& roster, PeerId peer, Mutant mutant = Mutant::none);
    // The dead and lost peers of one name are ghosts, of which the one with the highest claim is remembered.
    // Whether a peer of this profile, which we do not know and which is no longer alive, is another one.
    static bool is_spare_ghost(const Roster& roster, PeerId peer, const wire::PeerProfile& profile);
    // Those of `peer`'s name, itself perhaps, that are lost and need not be remembered.
    static std::vector<PeerId> spare_ghosts(const Roster& roster, PeerId peer);
    // What a peer that takes `self`'s name now claims.
    static std::uint32_t next(const Roster& roster);

    // Whom this peer asked last, and has no answer from: it waits for that one's name.
    PeerId asked() const { return asked_; }
    // There is nobody to ask any more.
    void stop_asking() { asked_ = PeerId{}; }
    // Asks a live namesake to which we yield, at most once each probe_interval. The first time a newcomer says that it
    // waits.
    Effects ask(const Step& step, PeerId holder);
    // `packet` is the answer: the namesake is alive, and itself bears our name.
    bool is_confirmed(const Roster& roster, const wire::Packet& packet) const;

  private:
    PeerId asked_;
    std::uint64_t seq_ = 0;
    TimePoint asked_until_{};
};

}  // namespace exa::membership
