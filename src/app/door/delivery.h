// Delivery: one reply of this peer on its way over a link to the entry that asked for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "app/door/turn.h"
#include "app/replica/reply.h"
#include "io/link/link.h"

namespace exa::app {

class Delivery final : public Runnable, public std::enable_shared_from_this<Delivery> {
  public:
    // `running` counts the deliveries of a peer; it and `turn` outlive this one.
    Delivery(std::shared_ptr<io::LinkStream> stream, std::shared_ptr<ReplyReader> reply, Turn& turn,
             std::atomic<std::uint32_t>& running);
    ~Delivery();
    Delivery(const Delivery&) = delete;
    Delivery& operator=(const Delivery&) = delete;

    // Takes what there is and comes back for more; `on_end` is called once, as the last thing.
    void start(std::function<void(const std::shared_ptr<Delivery>&)> on_end);

    void run() override;

  private:
    // False when nothing more is to be sent.
    bool send_what_goes();
    bool send(ReplyPart part);

    const std::shared_ptr<io::LinkStream> stream_;
    const std::shared_ptr<ReplyReader> reply_;
    Turn& turn_;
    std::atomic<std::uint32_t>& running_;
    std::function<void(const std::shared_ptr<Delivery>&)> on_end_;
    std::optional<ReplyPart> waiting_;  // for room on the link, or credit
    bool sent_data_ = false;            // since the reply last had nothing
};

}  // namespace exa::app
