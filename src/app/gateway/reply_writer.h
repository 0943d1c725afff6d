// ReplyWriter: one reply of this peer on its way over a link to the ingress that asked for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "app/gateway/ready_queue.h"
#include "app/replica/reply.h"
#include "io/link/inbound_stream.h"

namespace exa::app::gateway {

class ReplyWriter final : public Runnable, public std::enable_shared_from_this<ReplyWriter> {
  public:
    // `running` counts the writers of a peer.
    ReplyWriter(std::shared_ptr<io::link::InboundStream> stream, std::shared_ptr<replica::ReplyReader> reply,
                ReadyQueue& ready, std::atomic<std::uint32_t>& running);
    ~ReplyWriter();
    ReplyWriter(const ReplyWriter&) = delete;
    ReplyWriter& operator=(const ReplyWriter&) = delete;

    // Takes what there is and comes back for more; `on_end` is called once, as the last thing.
    void start(std::function<void(const std::shared_ptr<ReplyWriter>&)> on_end);

    void run() override;

  private:
    // False when nothing more is to be sent.
    bool send_what_goes();
    bool send(replica::ReplyPart part);

    const std::shared_ptr<io::link::InboundStream> stream_;
    const std::shared_ptr<replica::ReplyReader> reply_;
    ReadyQueue& ready_;
    std::atomic<std::uint32_t>& running_;
    std::function<void(const std::shared_ptr<ReplyWriter>&)> on_end_;
    std::optional<replica::ReplyPart> waiting_;  // for room on the link, or credit
    bool sent_data_ = false;                     // since the reply last had nothing
};

}  // namespace exa::app::gateway
