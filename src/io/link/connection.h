// Link: the machine of one connection between two peers, the same for dialler and acceptor.
//
// Life: greet() secures the transport and exchanges hellos; start() sets off three coroutines (read, write, watch) that
// keep the link alive until one of them finishes it; finish() tells every stream and the owner, once. Frames wait in
// two lanes, `control` before `bulk`; a stream's own frames keep their order. A goodbye goes out behind both, then
// nothing is written any more.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/endpoint.h"
#include "base/fifo.h"
#include "base/ids.h"
#include "base/result.h"
#include "io/async.h"
#include "io/link/context.h"
#include "io/link/link.h"
#include "io/link/transport.h"
#include "wire/frame.h"
#include "wire/link_messages.h"

namespace exa::io {

// One stream, as both the link and its LinkStream see it.
class StreamState {
  public:
    StreamState(std::uint32_t number, const boost::asio::any_io_executor& executor) : id(number), wake(executor) {}

    // Something that somebody may wait for has changed.
    void notify() {
        wake.notify();
        if (on_ready) on_ready();
    }

    const std::uint32_t id;
    Signal wake;  // of the one coroutine that reads (dialler) or waits for credit (acceptor), if there is one

    bool ended = false;      // End was received, or sent
    bool cancelled = false;  // by the dialler
    bool broken = false;     // the link finished first
    std::function<void()> on_ready;

    // Dialler.
    Fifo<StreamFrame> inbox;
    bool answered = false;        // a head or data came
    bool open_sent = false;       // the request left the queue
    std::uint32_t ungranted = 0;  // bytes consumed since the last credit frame
    std::shared_ptr<DataSink> sink;

    // What the other side may still send (dialler) or this side may (acceptor).
    std::int64_t credit = wire::stream_credit_initial;

    // Acceptor.
    std::size_t queued_frames = 0;  // in the bulk lane
    std::size_t open_bytes = 0;     // what the request counts against open_bytes_max
    std::function<void()> on_cancel;
};

class Link : public std::enable_shared_from_this<Link> {
  public:
    enum class Role : std::uint8_t { dialler, acceptor };

    Link(std::shared_ptr<LinkContext> context, std::unique_ptr<Transport> transport, Role role);

    // Secures the transport and exchanges hellos, within hello_timeout. `expect` is who the dialler means. On an error
    // the link is finished, and the other side was told why when it spoke our protocol.
    Awaitable<Result<void>> greet(PeerId expect);
    void start();

    PeerId peer() const { return peer_; }
    // The life of peer() that is at the other end.
    Generation generation() const { return generation_; }
    // What the link is sealed with; 0 on a plain one.
    KeyId key() const;
    bool greeted() const { return greeted_; }
    Endpoint remote() const { return transport_->remote(); }
    boost::asio::any_io_executor executor() const { return transport_->executor(); }
    // Neither finished nor saying goodbye.
    bool usable() const { return !finished_ && !goodbye_; }
    std::size_t streams() const { return streams_.size(); }

    // Dialler: sends the request once the write queue has room.
    Awaitable<Result<std::shared_ptr<LinkStream>>> open(std::shared_ptr<const wire::Open> open);
    // The same whether or not it has.
    Result<std::shared_ptr<LinkStream>> open_now(const wire::Open& open);
    bool has_room() const { return bulk_bytes_ < context_->config.write_queue_bytes; }
    void give_way() { transport_->give_way(); }
    // errc::too_large, errc::too_many (too much waits already), errc::broken.
    Result<void> send_sync(ByteView message);

    // Sends what is queued, then the goodbye, then finishes; within a second in any case. Before the hello: at once.
    void close(wire::GoodbyeCode code, std::string message);
    // Closes as soon as no stream is open; the owner opens no more.
    void retire();
    void finish(bool broken);

    // For LinkStream.
    Awaitable<Result<StreamFrame>> read(std::shared_ptr<StreamState> state, std::optional<Duration> timeout);
    std::optional<Result<StreamFrame>> poll(StreamState& state);
    Awaitable<Result<void>> write(std::shared_ptr<StreamState> state, Bytes frame, std::size_t credit);
    Result<void> push(const std::shared_ptr<StreamState>& state, Bytes frame, std::size_t credit);
    Result<void> push_shared(const std::shared_ptr<StreamState>& state, ByteView bytes,
                             std::shared_ptr<const void> owner);
    bool has_room(const std::shared_ptr<StreamState>& state, bool for_data);
    void write_end(const std::shared_ptr<StreamState>& state, const wire::End& end);
    void cancel(const std::shared_ptr<StreamState>& state);
    void release(const std::shared_ptr<StreamState>& state);

  private:
    // A frame, the rest of which may be somebody's.
    struct Outgoing {
        Bytes frame;
        ByteView rest;
        std::shared_ptr<const void> owner;
        std::size_t size() const { return frame.size() + rest.size(); }
    };
    struct Queued {
        Outgoing outgoing;
        std::shared_ptr<StreamState> stream;
    };

    Awaitable<Result<void>> secure();
    Awaitable<Result<wire::Hello>> receive_hello();
    Result<void> judge_hello(const wire::Hello& hello, PeerId expect, wire::GoodbyeCode& code) const;
    Awaitable<void> refuse(wire::GoodbyeCode code, std::string message);

    Awaitable<void> read_loop();
    Awaitable<void> write_loop();
    Awaitable<void> watch_loop();

    // An error means that the other side broke the protocol.
    Result<void> handle(const wire::FrameView& frame);
    Result<void> handle_as_dialler(const wire::FrameView& frame);
    Result<void> handle_as_acceptor(const wire::FrameView& frame);
    Result<void> handle_open(const wire::FrameView& frame);
    Result<void> handle_data(StreamState& stream, const wire::FrameView& frame);
    // Data for a sink: takes it into account, and hands on what is there of it.
    Result<void> begin_sinking(StreamState& stream, std::uint32_t length, ByteView payload);
    void sink(const std::shared_ptr<StreamState>& state, ByteView bytes);
    void consume(StreamState& stream, std::uint32_t bytes);
    // Reads the rest of a frame of data straight into its stream's sink. False when the link has ended.
    Awaitable<bool> read_into_sink();
    bool is_sinking() const;
    void handle_cancel(std::uint32_t id);

    void room_is_there();
    void queue_control(Bytes frame);
    void queue_bulk(Outgoing outgoing, const std::shared_ptr<StreamState>& state);
    std::vector<Outgoing> take_batch();
    void forget(std::shared_ptr<StreamState> state);
    StreamState* find(std::uint32_t id);

    std::shared_ptr<LinkContext> context_;
    std::unique_ptr<Transport> transport_;
    const Role role_;
    PeerId peer_;
    Generation generation_;
    wire::FrameReader reader_;

    boost::unordered_flat_map<std::uint32_t, std::shared_ptr<StreamState>> streams_;
    std::uint32_t last_stream_ = 0;  // the highest id opened so far
    std::size_t open_bytes_ = 0;     // acceptor: requests of open streams

    Fifo<Bytes> control_;
    Fifo<Queued> bulk_;
    std::size_t control_bytes_ = 0;
    std::size_t bulk_bytes_ = 0;
    std::optional<Bytes> pong_;  // the newest only: a flood of pings costs no memory
    std::optional<Bytes> goodbye_;
    bool goodbye_sent_ = false;
    std::vector<std::weak_ptr<StreamState>> crowded_;  // asked for room when there was none
    Signal work_;                                      // there is something to write
    Signal room_;                                      // the bulk lane has room, or a stream stopped waiting for it

    bool greeted_ = false;
    bool retiring_ = false;
    bool finished_ = false;
    boost::asio::steady_timer timer_;
    std::chrono::steady_clock::time_point heard_;
    std::chrono::steady_clock::time_point busy_;      // when a stream was last open
    std::chrono::steady_clock::time_point synced_{};  // when a sync was last sent
    unsigned pings_unanswered_ = 0;
};

}  // namespace exa::io
