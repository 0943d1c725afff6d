// What a link machine and the handle of a stream (outbound_stream.h, inbound_stream.h) know about one stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <variant>

#include "base/fifo.h"
#include "io/link/data_sink.h"
#include "wire/frame.h"
#include "wire/link_messages.h"

namespace exa::io::link {

// What a dialler reads: head (at most once, first), data, end (last).
using StreamFrame = std::variant<wire::Head, wire::Data, wire::End>;

struct StreamState {
    explicit StreamState(std::uint32_t number) : id(number) {}

    bool is_over() const { return ended || cancelled || broken; }

    const std::uint32_t id;
    // Bytes of data that the acceptor may still send. It may go below zero by one frame.
    std::int64_t credit = wire::stream_credit_initial;
    std::size_t queued_frames = 0;  // in the bulk lane
    bool began = false;             // a frame left the bulk lane
    bool ended = false;             // End was received, or queued
    bool cancelled = false;         // by the dialler
    bool broken = false;            // the link finished first
    // For whoever carries out StreamReady; the machine never calls it.
    std::function<void()> on_ready;
};

// A stream that this end opened.
struct OutboundState : StreamState {
    using StreamState::StreamState;

    Fifo<StreamFrame> inbox;
    bool answered = false;        // a head or data came
    std::uint32_t ungranted = 0;  // bytes consumed since the last credit frame
    std::shared_ptr<DataSink> sink;
};

// A stream that the other end opened.
struct InboundState : StreamState {
    using StreamState::StreamState;

    std::size_t request_bytes = 0;  // what it counts against LinkConfig::open_bytes_max
    bool blocked = false;           // its writer was told that there is no room
    // For whoever carries out StreamAborted; the machine never calls it.
    std::function<void()> on_cancel;
};

}  // namespace exa::io::link
