// Lanes: the frames that wait to be written on one link.
//
// Control frames (cancel, credit, ping, sync, end of an idle stream) go before bulk frames (open, head, data, end);
// each lane keeps its order. A batch is bounded, so a control frame waits for one batch of data at most.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/fifo.h"
#include "io/link/stream_state.h"

namespace exa::io::link {

// A frame. Its end may be bytes that stay where they are; `owner` keeps them there.
struct OutgoingFrame {
    Bytes frame;
    ByteView rest{};
    std::shared_ptr<const void> owner{};
    std::size_t size() const { return frame.size() + rest.size(); }
};

class Lanes {
  public:
    void push_control(Bytes frame);
    // Dropped, not sent, if the stream is cancelled before the frame's turn comes.
    void push_bulk(OutgoingFrame frame, const std::shared_ptr<StreamState>& stream);
    // Replaces the pong that still waits: a flood of pings costs no memory.
    void set_pong(Bytes frame) { pong_ = std::move(frame); }

    // The next frames in the order in which they are sent, 512 KiB or one frame more at most. Empty if nothing waits.
    std::vector<OutgoingFrame> take_batch();
    void clear();

    bool empty() const { return !pong_ && control_.empty() && bulk_.empty(); }
    std::size_t control_bytes() const { return control_bytes_; }
    std::size_t bulk_bytes() const { return bulk_bytes_; }

  private:
    struct Queued {
        OutgoingFrame frame;
        std::shared_ptr<StreamState> stream;
    };

    Fifo<Bytes> control_;
    Fifo<Queued> bulk_;
    std::size_t control_bytes_ = 0;
    std::size_t bulk_bytes_ = 0;
    std::optional<Bytes> pong_;
};

}  // namespace exa::io::link
