// Config of the router. router/options.h says what an operator can set of it, and what changes live.
#pragma once

#include <cstdint>

#include "base/breaker.h"
#include "base/result.h"
#include "base/time.h"

namespace exa::router {

struct Config {
    // Bounded load (Mirrokni et al. 2018): a session's owner is passed over when one more request would put it above
    // max(load_floor, ceil(load_factor_percent / 100 x mean)). Percent, 100 .. 1000; requests, 1 .. 10000.
    std::uint32_t load_factor_percent = 125;
    std::uint32_t load_floor = 4;

    // Replicas one request may be tried on, 1 .. attempts_limit. A request that met busy replicas waits for a permit
    // at the last but one; the last is for when that one dies.
    std::uint32_t attempts_max = 5;

    // Retries the whole dispatcher may make: every new request earns a part of one, up to a burst. It keeps a sick
    // cluster from doubling its own load. Percent, 0 .. 100; retries, 1 .. 100000.
    std::uint32_t retry_ratio_percent = 20;
    std::uint32_t retry_burst = 256;

    // How many ring successors of a prompt's prefix hash may serve it while they are not above the mean, 1 .. 64.
    std::uint32_t prefix_choices = 4;

    // Failures of one replica in a row that open its breaker, 1 .. 1000; how long it stays open before one request may
    // try it, doubling with every failed trial up to the maximum.
    std::uint32_t breaker_failures = 5;
    Duration breaker_open = std::chrono::seconds(2);
    Duration breaker_open_max = std::chrono::seconds(30);
    BreakerLimits breaker() const { return {breaker_failures, breaker_open, breaker_open_max}; }

    // How long a peer whose link broke is left alone before one request may try it, doubling up to the maximum.
    Duration peer_backoff = std::chrono::milliseconds(250);
    Duration peer_backoff_max = std::chrono::seconds(5);
    // How long a replica that refused a request (draining, another version) is left alone; the view should say so by
    // then.
    Duration refused_backoff = std::chrono::seconds(1);

    // A replica that reported itself full is believed for this long; after that it may be asked again when no other is
    // left.
    Duration load_fresh = std::chrono::milliseconds(250);
    // How long a request may wait for a permit when every replica that could take it is at its limit, 0 (not at all) ..
    // 100 s: less than an ingress waits for a first byte.
    Duration queue_wait = std::chrono::seconds(2);
    // The same where no other peer has a replica of the model, so that nobody else could be asked meanwhile. At least
    // queue_wait counts; 0 of that one is 0 here too.
    Duration queue_wait_alone = std::chrono::seconds(60);
    // What a client is told to wait when all are busy; spread by a quarter to either side.
    Duration retry_after = std::chrono::seconds(1);

    // Sessions whose spill to another replica is remembered; the one unused for longest is forgotten. 1 .. 10000000.
    std::uint32_t spill_entries = 65'536;

    // How long a replica that joins a pool is given less than others, a tenth at first; not when half of its pool or
    // more is new. 0 (not at all) .. 10 min.
    Duration slow_start = std::chrono::seconds(10);

    // Tokens of progress after which a stream may be tried on as many replicas again. 1 .. 1000000.
    std::uint32_t progress_tokens = 64;

    // Life of a session token, 1 min .. 7 days, and how far a peer's wall clock may be ahead of ours.
    Duration token_life = std::chrono::hours(2);
    Duration token_future = std::chrono::minutes(5);
};

inline constexpr std::uint32_t attempts_limit = 8;

// errc::invalid_config names the option (router/options.h), its value and its range.
Result<void> validate(const Config& config);

}  // namespace exa::router
