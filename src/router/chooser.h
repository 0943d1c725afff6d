// Chooser: which replica of a pool takes a request, given what the ingress knows. The rule is written once, here, for
// placing, retrying and explaining.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/rng.h"
#include "router/config.h"
#include "router/replica_tracker.h"
#include "router/routing_view.h"
#include "router/spill_map.h"

namespace exa::router {

enum class Reason : std::uint8_t {
    session_owner,    // the ring's owner of the session
    session_spilled,  // the owner was too busy: the less loaded of two of the next on the ring
    session_moved,    // the owner is suspect, draining or failed a moment ago: the next on the ring
    spill_kept,       // where the session spilled before
    warm_prefix,      // a replica that has seen this prompt's beginning, and is not above the mean
    least_loaded,     // the less loaded of two drawn at random
    last_resort,      // no replica is eligible without reserve: the least bad of all
    shortest_queue,   // all are at their limits, as far as is known: where the fewest wait for a permit
    own_replica,      // other peers were out of reach for this request: one of this very peer
};

std::string_view to_string(Reason reason);

struct Need {
    std::optional<std::uint64_t> position{};     // of the session
    std::optional<Spill> spill{};                // remembered for it
    std::optional<std::uint64_t> prefix_hash{};  // of the prompt; counts without a session only
    std::uint32_t prompt_tokens = 0;             // 0: unknown
    std::uint32_t priority = 1;                  // 0 high, 1 normal, 2 low
    std::uint64_t numerics = 0;                  // hash of the numerics id; 0: any
    std::span<const ReplicaId> tried{};          // by this request: not tried again, except to wait there
    std::uint32_t answered_busy = 0;             // bit i: tried[i] had no permit at once: the request may wait there
    bool may_wait = false;                       // for a permit, where all are taken
    bool must_wait = false;                      // enough were asked for a permit at once
    bool was_lost = false;  // peers were out of reach for it: rather here, or in a queue, than at a suspect
};

struct Choice {
    std::uint32_t replica = 0;
    Reason reason = Reason::least_loaded;
};

// The replica has the context and the numerics id that the request needs, whatever its eligibility.
bool can_serve(const ReplicaTracker& tracker, std::uint32_t replica, const Need& need);
// And the request was not tried there.
bool can_try(const ReplicaTracker& tracker, std::uint32_t replica, const Need& need);
// The same, or it answered busy: the request may wait there for a permit.
bool can_queue(const ReplicaTracker& tracker, std::uint32_t replica, const Need& need);

// Of two that take a request about equally well the nearer one gets it. A session of high priority stays with an owner
// that is above the bounded load; a request of low priority leaves the last quarter of a replica's permits to others. A
// request that has lost time to peers out of reach goes to a good replica of this peer, if there is one.
//
// Nothing when no replica of the pool can be tried and is usable. Expected cost does not depend on the size of the pool
// as long as most replicas are eligible; otherwise one pass over it.
std::optional<Choice> choose(TimePoint now, const Pool& pool, const ReplicaTracker& tracker, const Need& need,
                             const Config& config, Rng& rng);

}  // namespace exa::router
