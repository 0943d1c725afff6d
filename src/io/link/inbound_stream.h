// InboundStream: one request that came over a link, to be answered with a head, data and an end.
#pragma once

#include <functional>
#include <memory>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "io/link/stream_state.h"
#include "wire/link_messages.h"

namespace exa::io::link {

class LinkConnection;

// Belongs to the thread of its link. If the last reference is dropped before the end, the stream ends with
// EndCode::failed.
class InboundStream {
  public:
    InboundStream(std::shared_ptr<LinkConnection> link, std::shared_ptr<InboundState> state);
    ~InboundStream();
    InboundStream(const InboundStream&) = delete;
    InboundStream& operator=(const InboundStream&) = delete;

    // Who is at the other end of the link.
    PeerId peer() const;
    // As of OutboundStream.
    void set_background_priority();

    // Queue and return; what has no room is queued beyond the bound. errc::cancelled once the dialler gave up,
    // errc::broken once the link is gone, errc::too_large for data with tokens past one frame (data without tokens is
    // cut into several).
    Result<void> push_head(const wire::Head& head);
    Result<void> push_data(const wire::Data& data);
    Result<void> push_end(const wire::End& end);
    // Data without tokens that is sent from where it is, in one frame; `owner` keeps it there, unchanged.
    Result<void> push_shared(ByteView bytes, std::shared_ptr<const void> owner);
    // False while the link's write queue is full, or, for data, credit is used up.
    bool has_room(bool for_data) const;
    // Called from the event loop, possibly for nothing, when has_room() or cancelled() may have another answer; it must
    // do no more than wake whoever asks. Dropped with this object.
    void on_ready(std::function<void()> handler);

    // True once nobody reads any more: the dialler cancelled, or the link broke.
    bool cancelled() const;
    // Called once, from the event loop, when cancelled() becomes true; at once (posted) when it already is. Dropped
    // when the stream ends or this object goes away.
    void on_cancel(std::function<void()> handler);

  private:
    std::shared_ptr<LinkConnection> link_;
    std::shared_ptr<InboundState> state_;
};

}  // namespace exa::io::link
