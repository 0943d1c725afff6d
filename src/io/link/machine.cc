#include "io/link/machine.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "io/errc.h"
#include "wire/errc.h"

namespace exa::io::link {

using wire::FrameType;

namespace {

// What is read of the frames after one that goes to a sink: it is copied once more.
constexpr std::size_t ahead_bytes = 1024;

// Sync messages that wait for a peer that does not read.
constexpr std::size_t sync_bytes_max = 32 * 1024 * 1024;

// Time for a goodbye to leave and for the other side to hang up.
constexpr auto goodbye_timeout = std::chrono::seconds(1);

errc errc_of(wire::GoodbyeCode code) {
    switch (code) {
        case wire::GoodbyeCode::wrong_cluster:
            return errc::wrong_cluster;
        case wire::GoodbyeCode::wrong_version:
            return errc::wrong_version;
        case wire::GoodbyeCode::wrong_target:
            return errc::wrong_peer;
        case wire::GoodbyeCode::too_many:
            return errc::too_many;
        case wire::GoodbyeCode::malformed:
            return errc::malformed;
        case wire::GoodbyeCode::timed_out:
            return errc::timed_out;
        case wire::GoodbyeCode::closing:
            return errc::closed;
    }
    return errc::broken;
}

}  // namespace

LinkMachine::LinkMachine(const LinkConfig& config, const LinkIdentity& self, LinkStats& stats, Role role, TimePoint now)
    : self_(self),
      role_(role),
      common_{config, stats},
      outbound_(common_),
      inbound_(common_),
      keep_alive_(config, role == Role::acceptor, now),
      hello_deadline_(now + config.hello_timeout) {}

// The hello.

void LinkMachine::start_handshake(PeerId expect, const std::optional<PskIdentity>& proven) {
    expect_ = expect;
    proven_ = proven;
    if (role_ == Role::dialler) send_hello();
}

void LinkMachine::send_hello() {
    common_.lanes.push_control(wire::encode_hello({.cluster = self_.cluster,
                                                   .peer = self_.peer,
                                                   .generation = self_.generation,
                                                   .target = expect_,
                                                   .name = self_.name}));
}

Result<bool> LinkMachine::handle_hello(TimePoint now) {
    auto next = reader_.next();
    if (!next) {
        common_.events.push(ProtocolBroken{next.error()});
        return error(errc::malformed, next.error().message());
    }
    if (!next.value()) return false;
    const wire::FrameView& frame = *next.value();
    if (frame.header.type == FrameType::goodbye) {
        const auto goodbye = wire::decode_goodbye(frame.payload);
        if (!goodbye) return error(errc::malformed, goodbye.error().message());
        return error(errc_of(goodbye.value().code), goodbye.value().message);
    }
    const auto hello = wire::decode_hello(frame.payload);
    if (!hello) {
        common_.events.push(ProtocolBroken{hello.error()});
        return error(errc::malformed, hello.error().message());
    }
    wire::GoodbyeCode code{};
    if (const auto verdict = check_hello(hello.value(), code); !verdict) {
        refusal_ = verdict.error();
        goodbye_ = wire::encode_goodbye({code, refusal_->message()});
        return true;
    }
    common_.peer = hello.value().peer;
    generation_ = hello.value().generation;
    if (role_ == Role::acceptor) send_hello();
    handshake_done_ = true;
    reader_.accept_all();
    keep_alive_ = KeepAlive(common_.config, role_ == Role::acceptor, now);
    return true;
}

Result<void> LinkMachine::check_hello(const wire::Hello& hello, wire::GoodbyeCode& code) const {
    const bool is_acceptor = role_ == Role::acceptor;
    if (hello.cluster != self_.cluster) {
        code = wire::GoodbyeCode::wrong_cluster;
        return error(errc::wrong_cluster, "peer " + hello.name);
    }
    if (hello.version_major != wire::wire_version_major) {
        code = wire::GoodbyeCode::wrong_version;
        return error(errc::wrong_version, "peer " + hello.name + " speaks " + std::to_string(hello.version_major) +
                                              ", this one " + std::to_string(wire::wire_version_major));
    }
    const bool meant = is_acceptor ? hello.target == PeerId{} || hello.target == self_.peer
                                   : expect_ == PeerId{} || hello.peer == expect_;
    if (!meant || hello.peer == PeerId{}) {
        code = wire::GoodbyeCode::wrong_target;
        return error(errc::wrong_peer, "peer " + (is_acceptor ? to_string(self_.peer) : hello.name));
    }
    if (proven_ && hello.peer != (is_acceptor ? proven_->initiator : proven_->acceptor)) {
        code = wire::GoodbyeCode::wrong_target;
        return error(errc::wrong_peer, "it has proven to be another than peer " + to_string(hello.peer));
    }
    return success();
}

// Bytes and frames that come.

LinkMachine::ReadSpace LinkMachine::read_space() {
    into_sink_ = 0;
    if (ignoring_ || !outbound_.is_sinking()) return {reader_.prepare(), {}};
    std::span<std::uint8_t> room = outbound_.sink_room();
    if (room.empty()) {
        // Nobody wants the rest of this frame: it is read over, and never committed.
        room = reader_.prepare();
        room = room.first(std::min(room.size(), outbound_.missing()));
        into_sink_ = room.size();
        return {room, {}};
    }
    into_sink_ = room.size();
    // The next frame begins right after: with a read of its own it would cost as much as the whole piece.
    if (room.size() < outbound_.missing()) return {room, {}};
    return {room, reader_.prepare(ahead_bytes).first(ahead_bytes)};
}

void LinkMachine::handle_received(TimePoint now, std::size_t count) {
    keep_alive_.note_heard(now);
    if (finished_ || ignoring_) return;
    const std::size_t sunk = std::min(count, into_sink_);
    reader_.commit(count - sunk);
    if (sunk == 0) return;
    outbound_.sunk(sunk);
    note_streams(now);
}

void LinkMachine::handle_disconnected() {
    finish(!goodbye_);
}

bool LinkMachine::handle_frame(TimePoint now) {
    if (finished_ || ignoring_ || outbound_.is_sinking()) return false;
    const auto next = reader_.next();
    if (!next) {
        break_protocol(now, next.error());
        return false;
    }
    if (!next.value()) return begin_sinking(now);
    // What comes after the goodbye has no meaning.
    if (goodbye_) return true;
    if (const auto handled = handle(*next.value()); !handled) break_protocol(now, handled.error());
    note_streams(now);
    return true;
}

bool LinkMachine::begin_sinking(TimePoint now) {
    if (goodbye_ || outbound_.empty()) return false;
    const auto part = reader_.coming();
    if (!part || !outbound_.goes_to_sink(*part)) return false;
    if (const auto begun = outbound_.begin_sinking(reader_.take_coming()); !begun) break_protocol(now, begun.error());
    note_streams(now);
    return true;
}

Result<void> LinkMachine::handle(const wire::FrameView& frame) {
    switch (frame.header.type) {
        case FrameType::hello:
            return error(wire::errc::malformed, "a second hello");
        case FrameType::ping:
            common_.lanes.set_pong(wire::encode_frame(FrameType::pong, 0, frame.payload));
            return success();
        case FrameType::pong:
            return success();
        case FrameType::sync:
            ++common_.stats.syncs_received;
            common_.events.push(SyncReceived{Bytes(frame.payload.begin(), frame.payload.end())});
            return success();
        case FrameType::goodbye: {
            EXA_TRY(auto goodbye, wire::decode_goodbye(frame.payload));
            common_.events.push(GoodbyeReceived{std::move(goodbye)});
            finish(false);
            return success();
        }
        case FrameType::open:
        case FrameType::head:
        case FrameType::data:
        case FrameType::end:
        case FrameType::cancel:
        case FrameType::credit:
            return role_ == Role::dialler ? outbound_.handle(frame) : inbound_.handle(frame);
    }
    return error(wire::errc::unknown_kind);
}

void LinkMachine::break_protocol(TimePoint now, const Error& why) {
    ignoring_ = true;
    if (!usable()) return;
    common_.events.push(ProtocolBroken{why});
    close(now, wire::GoodbyeCode::malformed, why.message());
}

// Commands.

Result<std::shared_ptr<OutboundState>> LinkMachine::open(const wire::Open& open) {
    if (!usable()) return error(errc::closed, "link to " + to_string(peer()));
    had_streams_ = true;
    return outbound_.open(open);
}

void LinkMachine::cancel(TimePoint now, const std::shared_ptr<OutboundState>& stream) {
    outbound_.cancel(stream);
    note_streams(now);
}

Result<void> LinkMachine::push_end(TimePoint now, const std::shared_ptr<InboundState>& stream, const wire::End& end) {
    EXA_TRY(inbound_.push_end(stream, end));
    note_streams(now);
    return success();
}

Result<void> LinkMachine::send_sync(TimePoint now, ByteView message) {
    if (message.size() > wire::frame_payload_max(FrameType::sync))
        return error(errc::too_large, "sync of " + std::to_string(message.size()) + " bytes");
    if (!usable()) return error(errc::broken, "link to " + to_string(peer()));
    if (common_.lanes.control_bytes() + message.size() > sync_bytes_max)
        return error(errc::too_many, "sync messages wait");
    ++common_.stats.syncs_sent;
    keep_alive_.note_sync(now);
    common_.lanes.push_control(wire::encode_frame(FrameType::sync, 0, message));
    return success();
}

void LinkMachine::note_streams(TimePoint now) {
    if (streams() > 0) {
        had_streams_ = true;
        return;
    }
    if (std::exchange(had_streams_, false)) keep_alive_.note_busy(now);
    if (closing_when_idle_) close_when_idle(now);
}

// The end.

void LinkMachine::close(TimePoint now, wire::GoodbyeCode code, std::string message) {
    if (!usable()) return;
    if (!handshake_done_) return finish(false);
    goodbye_ = wire::encode_goodbye({code, std::move(message)});
    goodbye_deadline_ = now + goodbye_timeout;
    if (code == wire::GoodbyeCode::malformed) common_.lanes.clear();
}

void LinkMachine::close_when_idle(TimePoint now) {
    closing_when_idle_ = true;
    if (streams() == 0) close(now, wire::GoodbyeCode::closing, "another key is in use");
}

void LinkMachine::finish(bool broken) {
    if (std::exchange(finished_, true)) return;
    outbound_.break_all();
    inbound_.break_all();
    common_.lanes.clear();
    common_.events.push(LinkFinished{broken && handshake_done_});
}

// Output.

std::optional<LinkEvent> LinkMachine::poll_event() {
    if (common_.events.empty()) return std::nullopt;
    return common_.events.pop();
}

std::vector<OutgoingFrame> LinkMachine::poll_transmit() {
    if (finished_ || goodbye_sent_) return {};
    auto batch = common_.lanes.take_batch();
    if (batch.empty() && goodbye_) {
        goodbye_sent_ = true;
        batch.push_back({*goodbye_});
    }
    return batch;
}

TimePoint LinkMachine::next_timeout() const {
    if (finished_) return time_never;
    if (!handshake_done_) return hello_deadline_;
    return goodbye_ ? goodbye_deadline_ : keep_alive_.next_timeout();
}

void LinkMachine::handle_timeout(TimePoint now) {
    if (now < next_timeout()) return;
    if (!handshake_done_) {
        hello_timed_out_ = true;
        return finish(false);
    }
    if (goodbye_) return finish(false);
    switch (keep_alive_.handle_timeout(now, streams() > 0)) {
        case KeepAlive::Status::alive:
            return;
        case KeepAlive::Status::ping:
            return common_.lanes.push_control(wire::encode_frame(FrameType::ping, 0, {}));
        case KeepAlive::Status::silent:
            common_.events.push(PeerSilent{});
            return finish(true);
        case KeepAlive::Status::idle:
            return close(now, wire::GoodbyeCode::closing, "idle");
    }
}

}  // namespace exa::io::link
