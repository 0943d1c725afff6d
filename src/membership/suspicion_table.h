// SuspicionTable: the suspicions under way, and the verdicts of racks.
//
// A suspect has until the end of its Suspicion to refute. Shortly before, it and a few others are asked once more (the
// last check), and then the verdict is death. When one rack has rack_suspects_min suspects or more, a death is deferred
// until there is a verdict on each of them, or for rack_verdict_wait: the loss of a rack is then one change of the view
// and of the ring, and not one for each of its peers.
//
// The roster says who is suspect; this table says how long each has left. What a verdict does is Membership's work.
// Timers: suspicion -> due(); group -> take_overdue().
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "membership/step.h"
#include "membership/suspicion.h"

namespace exa::membership {

class SuspicionTable {
  public:
    enum class Due : std::uint8_t {
        nothing,     // it is no suspect any more, or its death is deferred
        last_check,  // check_again() is next
        verdict      // nobody refuted: it is to be called dead
    };

    // Verdicts on racks are given from `now` on.
    explicit SuspicionTable(TimePoint now) : verdicts_from_(now) {}

    // `peer`, suspect since this moment, has one accuser. Replaces its earlier suspicion.
    void start(const Step& step, PeerId peer, PeerId accuser);
    // False when `accuser` is no new one, or the verdict has been given.
    bool confirm(const Step& step, PeerId peer, PeerId accuser);
    // `peer` is no suspect any more, or another instance.
    void end(PeerId peer);

    Due due(PeerId peer) const;
    // The last check: pings the suspect once more and asks others, who may have heard its refutation.
    Effects check_again(const Step& step, PeerId peer);
    // This process was late: an answer may wait unread. Verdicts that are due are put off for long enough to read it,
    // and the suspects are asked again. Each is put off once: a process that is always late has read what came before
    // by the time it looks again, and must not keep the dead for good.
    Effects postpone(const Step& step);

    // Racks. True when the death of this live peer is to be deferred.
    bool is_deferrable(const Step& step, PeerId peer) const;
    // Membership has made `peer` a suspect, if it was none; its verdict is given.
    void defer(const Step& step, PeerId peer);
    bool is_deferred(PeerId peer) const { return deferred_.contains(peer); }
    // The deferred deaths of a rack in which no suspect waits for its verdict any more; none while one does.
    std::vector<PeerId> take_decided(const Step& step, std::string_view rack);
    // Those of the rack whose timer this is, although others of it still wait.
    std::vector<PeerId> take_overdue(const Step& step, std::uint64_t rack_hash);
    // When `rack` gets its rack_suspects_min-th suspect: its peers that this observer, one of a few, should probe out
    // of turn. If the rack is gone, all of it is suspect within a probe.
    std::vector<PeerId> rack_probes(const Step& step, std::string_view rack) const;

  private:
    std::vector<PeerId> take_deferred(const Step& step, std::string_view rack);

    std::map<PeerId, Suspicion> running_;
    std::set<PeerId> deferred_;  // have their verdict
    TimePoint verdicts_from_;    // not before, since we were last late
};

}  // namespace exa::membership
