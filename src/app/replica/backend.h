// Backend: what makes the answers of one local replica, be it an engine of this process or a server elsewhere.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "app/replica/reply.h"
#include "app/shared/mailbox.h"
#include "io/http/upstream.h"
#include "kv/segment_key.h"
#include "wire/link_messages.h"
#include "wire/records.h"

namespace exa::app::replica {

// What the replies of one data-plane thread came to.
struct ReceiverStats {
    std::uint64_t requests = 0;
    std::uint64_t refused_busy = 0;
    std::uint64_t refused_other = 0;  // not here, draining, another version
    std::uint64_t client_errors = 0;  // answered 4xx
    std::uint64_t cancelled = 0;
    std::uint64_t prompt_tokens = 0;
    std::uint64_t cached_tokens = 0;
    std::uint64_t completion_tokens = 0;
};

// The connections of one data-plane thread to servers behind replicas of this peer.
using UpstreamPools = std::vector<std::pair<ReplicaId, std::shared_ptr<io::http::UpstreamPool>>>;

// Where a reply belongs.
struct ReplyContext {
    boost::asio::any_io_executor executor;
    std::shared_ptr<ReceiverStats> stats;
    std::shared_ptr<shared::Mailbox> mailbox{};  // of the executor
    std::shared_ptr<UpstreamPools> upstreams = std::make_shared<UpstreamPools>();
};

// Thread-safe but for stop().
class Backend {
  public:
    virtual ~Backend() = default;

    // Begins the answer to a request whose model, version, tenant and state have been checked. It does not fail: that
    // the request should go elsewhere is a reply of nothing but an end, a client's mistake one with a 4xx head.
    // Called on `context.executor`. The reply keeps alive what it needs of the backend.
    virtual std::shared_ptr<ReplyReader> open(const wire::Open& open, const ReplyContext& context) = 0;

    virtual wire::LoadReport load() const = 0;

    // The keys of the KV segments of what `open` asks to go on from; nothing when its KV has none, or it is no such
    // request.
    virtual std::optional<std::vector<exa::kv::SegmentKey>> kv_keys(const wire::Open& /*open*/) { return std::nullopt; }

    // Ends the answers under way, each with an end that lets a stream go on elsewhere; from then on open() says busy
    // and nothing is posted to any executor. From one thread; idempotent.
    virtual void stop() = 0;
};

}  // namespace exa::app::replica
