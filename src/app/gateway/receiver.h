// Receiver: the target's side of a request. The ingress chose by a view that may be stale: model, version, tenant and
// state are checked again (gateway/receiver.h), then the replica's backend answers.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "app/gateway/ready_queue.h"
#include "app/gateway/reply_writer.h"
#include "app/kv/replicator_thread.h"
#include "app/replica/backend.h"
#include "app/replica/local_replicas.h"
#include "app/replica/reply.h"
#include "io/link/inbound_stream.h"
#include "wire/link_messages.h"

namespace exa::app::gateway {

// Belongs to one data-plane thread, and so do its replies.
class Receiver {
  public:
    // Null `kv`: this peer keeps no KV cache for others.
    Receiver(std::shared_ptr<replica::LocalReplicas> replicas, kv::KvReplicatorThread* kv, ReadyQueue& ready,
             const boost::asio::any_io_executor& executor)
        : replicas_(std::move(replicas)),
          kv_(kv),
          ready_(ready),
          context_{executor, std::make_shared<replica::ReceiverStats>(), std::make_shared<shared::Mailbox>(executor)} {}

    // The answer, as Backend::open() gives it; that this peer cannot take the request is an end without a head.
    std::shared_ptr<replica::ReplyReader> open(const wire::Open& open);

    // A replica of this peer that would take a request for `model`.
    std::optional<ReplicaId> find_ready(std::string_view model, std::string_view tenant) const;

    // Answers a client's request, or one of another peer's KV exchange, that came over a link.
    void serve(wire::Open open, std::shared_ptr<io::link::InboundStream> stream);

    const replica::ReceiverStats& stats() const { return *context_.stats; }

  private:
    std::shared_ptr<replica::ReplyReader> answer_kv(const wire::Open& open, io::link::InboundStream& stream);

    std::shared_ptr<replica::LocalReplicas> replicas_;
    kv::KvReplicatorThread* kv_;
    ReadyQueue& ready_;
    replica::ReplyContext context_;
    std::atomic<std::uint32_t> kv_answers_now_ = 0;
    std::unordered_set<std::shared_ptr<ReplyWriter>> writers_;  // under way
};

}  // namespace exa::app::gateway
