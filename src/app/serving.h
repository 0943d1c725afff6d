// Serving: the target's side of a request. It checks again what the entry believed (model, version, tenant, state,
// capacity), parses the client's body, generates, and renders what the client will get.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>

#include "app/local_replicas.h"
#include "app/reply.h"
#include "wire/link_messages.h"

namespace exa::app {

// Of one data-plane thread.
struct ServingStats {
    std::uint64_t requests = 0;
    std::uint64_t refused_busy = 0;
    std::uint64_t refused_other = 0;  // not here, draining, another version
    std::uint64_t client_errors = 0;  // answered 4xx
    std::uint64_t cancelled = 0;
    std::uint64_t prompt_tokens = 0;
    std::uint64_t cached_tokens = 0;
    std::uint64_t completion_tokens = 0;
};

class Serving {
  public:
    explicit Serving(std::shared_ptr<LocalReplicas> replicas) : replicas_(std::move(replicas)) {}

    // Writes one whole reply. A client's mistake is a head with a 4xx status and its JSON; that the request should go
    // elsewhere is an end without a head. Runs on the executor of `reply`; this object outlives the coroutine.
    boost::asio::awaitable<void> serve(wire::Open open, std::shared_ptr<ReplyWriter> reply);

    const ServingStats& stats() const { return stats_; }

  private:
    std::shared_ptr<LocalReplicas> replicas_;
    ServingStats stats_;
};

}  // namespace exa::app
