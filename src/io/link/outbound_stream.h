// OutboundStream: one request that this end makes over a link, and the answer to it.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/ids.h"
#include "base/result.h"
#include "io/link/data_sink.h"
#include "io/link/stream_state.h"

namespace exa::io::link {

class LinkConnection;

// Belongs to the thread of its link. If the last reference is dropped before the end, the request is cancelled.
class OutboundStream {
  public:
    OutboundStream(std::shared_ptr<LinkConnection> link, std::shared_ptr<OutboundState> state);
    ~OutboundStream();
    OutboundStream(const OutboundStream&) = delete;
    OutboundStream& operator=(const OutboundStream&) = delete;

    // Who is at the other end of the link.
    PeerId peer() const;
    // What this end sends on the link, on any stream of it, yields to other traffic (RFC 8622, lower effort): for links
    // that carry what nobody waits for at a screen. Idempotent.
    void set_background_priority();

    // The next frame, or nothing if it has not come; taking data out grants its credit. After End: errc::closed.
    // errc::broken when the link died (frames that had arrived come first), errc::cancelled after cancel().
    std::optional<Result<StreamFrame>> poll();
    // Called from the event loop, possibly for nothing, when poll() may have an answer again after it had none; it must
    // do no more than wake whoever asks. Dropped with this object.
    void on_ready(std::function<void()> handler);
    // Before the first poll(): data goes there and not to poll(), as fast as it comes. It may carry no tokens.
    void read_into(std::shared_ptr<DataSink> sink);
    // The acceptor is told before any queued data; frames on their way are dropped. Idempotent.
    void cancel();

  private:
    std::shared_ptr<LinkConnection> link_;
    std::shared_ptr<OutboundState> state_;
};

}  // namespace exa::io::link
