// Explanation: where a request would go and why, for people (`exaserve route`).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "ring/pool_key.h"
#include "router/chooser.h"
#include "router/replica_book.h"

namespace exa::router {

enum class PositionSource : std::uint8_t {
    none,       // no session: one would be minted where the request goes
    token,      // a session token that verifies
    client_id,  // any other text: the client's own id
};

std::string_view to_string(PositionSource source);

struct ExplainedCandidate {
    ReplicaId replica;
    std::string peer_name{};
    std::uint32_t load = 0;   // requests in flight, as this entry sees it
    std::uint32_t bound = 0;  // of its load, by the bounded-load rule
    std::uint32_t limit = 0;  // of its own; 0: unknown
    Standing standing = Standing::good;
    bool fits = true;  // the prompt is within its context
    bool chosen = false;
};

struct Explanation {
    ring::PoolKey pool;
    PositionSource source = PositionSource::none;
    std::uint64_t position = 0;                    // 0 without a session
    std::optional<ReplicaId> owner{};              // of the position, by the ring alone: the same on every peer
    std::optional<ReplicaId> spilled_to{};         // remembered at this entry
    std::vector<ExplainedCandidate> candidates{};  // the first few in the order they are considered
    std::optional<ReplicaId> choice{};             // nothing: every replica is busy or out of reach
    std::optional<Reason> reason{};
};

}  // namespace exa::router
