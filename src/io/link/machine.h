// LinkMachine: one connection between two peers as a state machine without a socket or a clock, the same for dialler
// and acceptor. The idea. Each end sends a hello and checks the other's (the handshake); then the dialler opens streams
// (outbound_streams.h) and the acceptor answers them (inbound_streams.h). Frames wait in two lanes (lanes.h); a
// keep-alive (keep_alive.h) pings a silent peer and closes an idle link. The end is a goodbye after everything that is
// queued, or a broken connection; either way LinkFinished is the last event.
//
// Driving it: start_handshake() once, read into read_space(), report handle_received(), then handle_hello() until the
// hello is accepted or refused, from then on handle_frame() until it has none. After every call: poll_event() until it
// is empty, write what poll_transmit() gives and report handle_written(), and call handle_timeout() at next_timeout().
// Whatever the other side sends is an error that closes the link, never a failed check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "io/link/config.h"
#include "io/link/events.h"
#include "io/link/inbound_streams.h"
#include "io/link/keep_alive.h"
#include "io/link/lanes.h"
#include "io/link/outbound_streams.h"
#include "io/link/psk.h"
#include "wire/frame.h"
#include "wire/link_messages.h"

namespace exa::io::link {

class LinkMachine {
  public:
    enum class Role : std::uint8_t { dialler, acceptor };

    // Where the next bytes go: `first`, and what is more than that to `then`.
    struct ReadSpace {
        std::span<std::uint8_t> first;
        std::span<std::uint8_t> then;
    };

    // The hellos must be done within LinkConfig::hello_timeout of `now`. What is given by reference outlives this.
    LinkMachine(const LinkConfig& config, const LinkIdentity& self, LinkStats& stats, Role role, TimePoint now);

    Role role() const { return role_; }
    // Who is at the other end, once handshake_done() holds.
    PeerId peer() const { return common_.peer; }
    Generation generation() const { return generation_; }
    bool handshake_done() const { return handshake_done_; }
    // Why the other side's hello was refused; the goodbye that says so is in poll_transmit().
    const std::optional<Error>& refusal() const { return refusal_; }
    // It is finished because the hellos took too long.
    bool hello_timed_out() const { return hello_timed_out_; }
    // Neither finished nor saying goodbye.
    bool usable() const { return !finished_ && !goodbye_; }
    bool finished() const { return finished_; }
    bool goodbye_sent() const { return goodbye_sent_; }
    // The bulk lane is not full.
    bool has_room() const { return common_.has_room(); }
    std::size_t streams() const { return outbound_.size() + inbound_.size(); }

    // Queues the hello (acceptor: once the other side's is accepted). `expect` is who the dialler means, 0 whoever
    // listens; `proven` who has proven to be at the ends, if the transport knows.
    void start_handshake(PeerId expect, const std::optional<PskIdentity>& proven);
    // Handles the hello if it is there. True once it is accepted or refused: handshake_done() or refusal(). On an error
    // the link cannot go on; it is the caller's to finish().
    Result<bool> handle_hello(TimePoint now);

    // Bytes that come. The space stays valid until handle_received() or handle_disconnected().
    ReadSpace read_space();
    void handle_received(TimePoint now, std::size_t count);
    // The connection has ended, in either direction.
    void handle_disconnected();
    // Handles one frame that has come; false when more bytes are needed.
    bool handle_frame(TimePoint now);

    // Dialler's commands.
    Result<std::shared_ptr<OutboundState>> open(const wire::Open& open);
    std::optional<Result<StreamFrame>> poll(OutboundState& stream) { return outbound_.poll(stream); }
    void cancel(TimePoint now, const std::shared_ptr<OutboundState>& stream);
    // Acceptor's commands.
    InboundStreams& inbound() { return inbound_; }
    Result<void> push_end(TimePoint now, const std::shared_ptr<InboundState>& stream, const wire::End& end);
    // Commands of both. send_sync: errc::too_large, errc::too_many (too much waits already), errc::broken.
    Result<void> send_sync(TimePoint now, ByteView message);
    // Sends what is queued, then the goodbye, then finishes; within a second in any case. Before the hello: at once.
    void close(TimePoint now, wire::GoodbyeCode code, std::string message);
    // Closes as soon as no stream is open; the caller opens no more.
    void close_when_idle(TimePoint now);
    void finish(bool broken);

    // Output.
    std::optional<LinkEvent> poll_event();
    // Frames to write, in order and in one go; empty if there are none. After goodbye_sent() none follows.
    std::vector<OutgoingFrame> poll_transmit();
    // poll_transmit() may have something.
    bool has_transmit() const { return !common_.lanes.empty() || (goodbye_ && !goodbye_sent_); }
    // What poll_transmit() gave is written: whoever waits for room is woken.
    void handle_written() { inbound_.wake_blocked(); }
    TimePoint next_timeout() const;
    // Does nothing before next_timeout().
    void handle_timeout(TimePoint now);

  private:
    void send_hello();
    Result<void> check_hello(const wire::Hello& hello, wire::GoodbyeCode& code) const;
    Result<void> handle(const wire::FrameView& frame);
    bool begin_sinking(TimePoint now);
    void break_protocol(TimePoint now, const Error& why);
    void note_streams(TimePoint now);

    const LinkIdentity& self_;
    const Role role_;
    LinkCommon common_;
    OutboundStreams outbound_;
    InboundStreams inbound_;
    KeepAlive keep_alive_;
    wire::FrameReader reader_;

    // The hello.
    PeerId expect_;
    std::optional<PskIdentity> proven_;
    std::optional<Error> refusal_;
    const TimePoint hello_deadline_;
    Generation generation_;
    bool handshake_done_ = false;
    bool hello_timed_out_ = false;

    bool had_streams_ = false;
    std::size_t into_sink_ = 0;  // bytes of the last read_space() that are of a frame for a sink

    // The end.
    std::optional<Bytes> goodbye_;
    TimePoint goodbye_deadline_ = time_never;
    bool goodbye_sent_ = false;
    bool ignoring_ =
        false;  // the other side broke the protocol: what comes is read and dropped, so that the goodbye arrives
    bool closing_when_idle_ = false;
    bool finished_ = false;
};

}  // namespace exa::io::link
