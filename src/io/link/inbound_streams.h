// InboundStreams: the acceptor's half of a link machine: the streams that the other end opened, and what is sent on
// them within their credit.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "io/link/events.h"
#include "io/link/stream_state.h"
#include "wire/frame.h"
#include "wire/link_messages.h"

namespace exa::io::link {

class InboundStreams {
  public:
    // `common` outlives this.
    explicit InboundStreams(LinkCommon& common) : common_(common) {}

    bool empty() const { return streams_.empty(); }
    std::size_t size() const { return streams_.size(); }

    // What is pushed has room or not: only has_room() says so. errc::cancelled once the dialler gave up, errc::broken
    // once the link is gone, errc::too_large for data with tokens past one frame (data without tokens is cut into
    // several). Nothing follows an end.
    Result<void> push_head(const std::shared_ptr<InboundState>& stream, const wire::Head& head);
    Result<void> push_data(const std::shared_ptr<InboundState>& stream, const wire::Data& data);
    // Data without tokens that is sent from where it is, in one frame; `owner` keeps it there, unchanged.
    Result<void> push_shared(const std::shared_ptr<InboundState>& stream, ByteView bytes,
                             std::shared_ptr<const void> owner);
    Result<void> push_end(const std::shared_ptr<InboundState>& stream, const wire::End& end);
    // False while the link's bulk lane is full, or, for data, credit is used up. StreamReady follows.
    bool has_room(const std::shared_ptr<InboundState>& stream, bool for_data);
    // Frames have left the bulk lane: writers that were told to wait are woken if there is room now.
    void wake_blocked();
    // The link is gone: every stream is told.
    void break_all();

    // An error means that the other side broke the protocol.
    Result<void> handle(const wire::FrameView& frame);

  private:
    Result<void> handle_open(const wire::FrameView& frame);
    void handle_cancel(std::uint32_t id);
    Result<void> handle_credit(std::uint32_t id, std::uint32_t credit);
    Result<void> check_open(const InboundState& stream) const;
    Result<void> push_frame(const std::shared_ptr<InboundState>& stream, const wire::Data& data);
    void erase(const InboundState& stream);

    LinkCommon& common_;
    boost::unordered_flat_map<std::uint32_t, std::shared_ptr<InboundState>> streams_;
    std::uint32_t last_id_ = 0;                         // the highest that the other side opened
    std::size_t request_bytes_ = 0;                     // of open streams
    std::vector<std::weak_ptr<InboundState>> blocked_;  // were told that there is no room
};

}  // namespace exa::io::link
