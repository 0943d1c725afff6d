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
#include "router/replica_tracker.h"

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
    std::uint32_t load = 0;  // requests in flight, as this ingress sees it
    LoadFactors factors{};
    std::uint32_t load_score = 0;         // of all factors, in hundredths of a request
    std::uint32_t bound = 0;              // of its load_score, by the bounded-load rule; in requests
    std::uint32_t limit = 0;              // of its own; 0: unknown
    std::uint32_t queued = 0;             // requests that wait there for a permit
    std::uint32_t share_permille = 1000;  // of what it would get if it were not new
    Distance distance = Distance::rack;
    Eligibility eligibility = Eligibility::good;
    bool fits = true;  // the prompt is within its context
    bool chosen = false;
};

struct Explanation {
    ring::PoolKey pool;
    PositionSource source = PositionSource::none;
    std::uint64_t position = 0;                    // 0 without a session
    std::optional<ReplicaId> owner{};              // of the position, by the ring alone: the same on every peer
    std::optional<ReplicaId> spilled_to{};         // remembered at this ingress
    std::vector<ExplainedCandidate> candidates{};  // the first few in the order they are considered
    std::optional<ReplicaId> choice{};             // nothing: every replica is busy or out of reach
    std::optional<Reason> reason{};
};

}  // namespace exa::router
