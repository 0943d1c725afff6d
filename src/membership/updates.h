// make_updates: the link messages that bring another peer what it lacks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"
#include "membership/load_table.h"
#include "membership/roster.h"
#include "wire/gossip.h"

namespace exa::membership {

struct UpdateRequest {
    std::span<const wire::Pull> lacking{};  // with the versions that the other peer has
    std::uint64_t seq = 0;                  // of the digest or summary that this answers; 0: of none
    bool with_loads = false;                // the loads of all peers, not only of those that it knows nothing of
    std::vector<wire::Pull> pulls{};        // what we lack ourselves: they go with the first message
};

// Records, facts and loads, in messages of about 64 KiB, all but the last marked `more`. An answer to a digest or a
// summary has at least one message, even an empty one: the asker waits for it. Without a header.
std::vector<wire::Sync> make_updates(TimePoint now, const Roster& roster, const LoadTable& loads,
                                     UpdateRequest request);

}  // namespace exa::membership
