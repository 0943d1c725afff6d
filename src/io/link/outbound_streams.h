// OutboundStreams: the dialler's half of a link machine: the streams that this end opened, what comes back on them, and
// the credit that reading grants.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "io/link/events.h"
#include "io/link/stream_state.h"
#include "wire/frame.h"
#include "wire/link_messages.h"

namespace exa::io::link {

class OutboundStreams {
  public:
    // `common` outlives this.
    explicit OutboundStreams(LinkCommon& common) : common_(common) {}

    bool empty() const { return streams_.empty(); }
    std::size_t size() const { return streams_.size(); }

    // Queues the request. errc::too_many, errc::too_large: nothing changed.
    Result<std::shared_ptr<OutboundState>> open(const wire::Open& open);
    // The next frame; nothing until one comes. Taking data out grants its credit. After End errc::closed, after
    // cancel() errc::cancelled, errc::broken once the link is gone and what had arrived is taken.
    std::optional<Result<StreamFrame>> poll(OutboundState& stream);
    // The acceptor is told before any queued data; frames on their way are dropped. Idempotent.
    void cancel(const std::shared_ptr<OutboundState>& stream);
    // The link is gone: every stream is told.
    void break_all();

    // An error means that the other side broke the protocol.
    Result<void> handle(const wire::FrameView& frame);

    // A frame of data that goes to a sink is not waited for as a whole: its bytes go where they stay as they come.
    bool goes_to_sink(const wire::FramePart& part) const;
    Result<void> begin_sinking(const wire::FramePart& part);
    bool is_sinking() const { return sinking_.has_value(); }
    // Bytes that are still to come of that frame.
    std::size_t missing() const { return sinking_->missing; }
    // Where they go, at most missing() of them; empty if nobody wants them any more. The memory stays valid until
    // sunk().
    std::span<std::uint8_t> sink_room();
    // This many of them have come, to sink_room() or to nowhere.
    void sunk(std::size_t count);

  private:
    // A frame that is being read into a sink.
    struct Sinking {
        std::shared_ptr<OutboundState> stream;
        std::uint32_t length = 0;  // of the payload
        std::size_t missing = 0;
        std::shared_ptr<DataSink> sink{};  // kept while the network may write to it, whatever becomes of the stream
    };

    Result<void> handle_data(const std::shared_ptr<OutboundState>& stream, const wire::FrameView& frame);
    Result<void> start_sink(const std::shared_ptr<OutboundState>& stream, std::uint32_t length, ByteView payload);
    void consume(OutboundState& stream, std::size_t bytes, std::uint32_t grant_from);
    void erase(const OutboundState& stream);

    LinkCommon& common_;
    boost::unordered_flat_map<std::uint32_t, std::shared_ptr<OutboundState>> streams_;
    std::uint32_t last_id_ = 0;
    std::optional<Sinking> sinking_;
};

}  // namespace exa::io::link
