#include "io/link/connection.h"

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <limits>
#include <utility>

#include "io/errc.h"
#include "wire/errc.h"

namespace exa::io {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using wire::FrameType;

namespace {

// One system call carries at most this, but for its last frame; what follows waits for the next, so that a control
// frame never waits long.
constexpr std::size_t batch_bytes_max = 512 * 1024;
constexpr std::size_t batch_frames_max = 64;

// What the acceptor may send to a sink beyond the credit that every stream has, and what of it is granted anew at a
// time. A sink takes what comes at once, so this bounds no memory here: it is what may wait in the network's buffers,
// enough that neither end ever waits for the other to wake up.
constexpr std::uint32_t sink_credit = 4 * 1024 * 1024;
constexpr std::uint32_t sink_grant = 1024 * 1024;

// What is read of the frames behind one that goes to a sink: it is copied once more.
constexpr std::size_t ahead_bytes = 1024;

// Sync messages that wait for a peer that does not read.
constexpr std::size_t control_bytes_max = 32 * 1024 * 1024;

// Time for a goodbye to leave and for the other side to hang up.
constexpr auto goodbye_timeout = std::chrono::seconds(1);

constexpr unsigned pings_unanswered_max = 2;

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

Link::Link(std::shared_ptr<LinkContext> context, std::unique_ptr<Transport> transport, Role role)
    : context_(std::move(context)),
      transport_(std::move(transport)),
      role_(role),
      work_(transport_->executor()),
      room_(transport_->executor()),
      timer_(transport_->executor()),
      heard_(Clock::now()),
      busy_(heard_) {
    ++context_->stats.links_now;
}

KeyId Link::key() const {
    const auto proven = transport_->proven();
    return proven ? proven->key : KeyId{};
}

// The hello.

Awaitable<Result<void>> Link::secure() {
    const auto secured = co_await transport_->secure();
    if (secured) co_return success();
    const bool late = timer_.expiry() <= Clock::now();
    const Error why = late ? error(errc::timed_out, "TLS handshake with " + to_string(remote())) : secured.error();
    context_->count_refusal(why);
    // What a dialler meets is its owner's to tell: another key may do.
    if (role_ == Role::acceptor && why.code != errc::timed_out && why.code != errc::broken)
        context_->warn_of_stranger("refused a link", remote(), why);
    if (role_ == Role::acceptor && (why.code == errc::wrong_key || why.code == errc::wrong_peer))
        co_await transport_->linger();
    co_return why;
}

Awaitable<Result<void>> Link::greet(PeerId expect) {
    const auto self = shared_from_this();
    timer_.expires_after(context_->config.hello_timeout);
    timer_.async_wait([self](const boost::system::error_code& code) {
        if (!code && !self->greeted_) self->transport_->close();
    });
    if (auto secured = co_await secure(); !secured) {
        finish(false);
        co_return secured.error();
    }
    const LinkIdentity& me = context_->identity;
    const Bytes hello = wire::encode_hello(
        {.cluster = me.cluster, .peer = me.peer, .generation = me.generation, .target = expect, .name = me.name});
    if (role_ == Role::dialler) co_await transport_->write({asio::buffer(hello)});
    auto received = co_await receive_hello();
    if (!received) {
        finish(false);
        co_return received.error();
    }
    wire::GoodbyeCode code{};
    if (auto verdict = judge_hello(received.value(), expect, code); !verdict) {
        ++context_->stats.links_refused;
        context_->warn_of_stranger("refused a link", remote(), verdict.error());
        co_await refuse(code, verdict.error().message());
        co_return verdict.error();
    }
    peer_ = received.value().peer;
    generation_ = received.value().generation;
    if (role_ == Role::acceptor) co_await transport_->write({asio::buffer(hello)});
    if (!context_->is_welcome(key())) {
        finish(false);
        co_return error(errc::wrong_key, "it was removed meanwhile");
    }
    greeted_ = true;
    reader_.accept_all();
    ++context_->stats.links_opened;
    co_return success();
}

Awaitable<Result<wire::Hello>> Link::receive_hello() {
    for (bool first = true;; first = false) {
        auto next = reader_.next();
        if (!next) {
            ++context_->stats.malformed;
            context_->warn_of_stranger("closed a connection that is no link", remote(), next.error());
            co_return error(errc::malformed, next.error().message());
        }
        if (const auto& frame = next.value()) {
            if (frame->header.type == FrameType::goodbye) {
                const auto goodbye = wire::decode_goodbye(frame->payload);
                if (!goodbye) co_return error(errc::malformed, goodbye.error().message());
                co_return error(errc_of(goodbye.value().code), to_string(remote()) + ": " + goodbye.value().message);
            }
            auto hello = wire::decode_hello(frame->payload);
            if (!hello) {
                ++context_->stats.malformed;
                co_return error(errc::malformed, hello.error().message());
            }
            co_return std::move(hello).value();
        }
        const auto room = reader_.prepare();
        const auto done = co_await transport_->read_some(room);
        if (done.code) {
            const bool late = timer_.expiry() <= Clock::now();
            const char* const hint = first && role_ == Role::dialler && !late && !context_->is_sealed()
                                         ? " (closed without an answer: is that peer sealed?)"
                                         : "";
            co_return error(late ? errc::timed_out : errc::broken, "hello of " + to_string(remote()) + hint);
        }
        if (first && !context_->is_sealed() && looks_like_tls(room.first(done.bytes))) {
            const Error why = error(errc::wrong_seal, "the other end is sealed: this peer has no key");
            context_->count_refusal(why);
            context_->warn_of_stranger("refused a link", remote(), why);
            co_return why;
        }
        context_->stats.bytes_received += done.bytes;
        reader_.commit(done.bytes);
    }
}

Result<void> Link::judge_hello(const wire::Hello& hello, PeerId expect, wire::GoodbyeCode& code) const {
    const LinkIdentity& me = context_->identity;
    if (hello.cluster != me.cluster) {
        code = wire::GoodbyeCode::wrong_cluster;
        return error(errc::wrong_cluster, "peer " + hello.name);
    }
    if (hello.version_major != wire::wire_version_major) {
        code = wire::GoodbyeCode::wrong_version;
        return error(errc::wrong_version, "peer " + hello.name + " speaks " + std::to_string(hello.version_major) +
                                              ", this one " + std::to_string(wire::wire_version_major));
    }
    const bool meant = role_ == Role::acceptor ? hello.target == PeerId{} || hello.target == me.peer
                                               : expect == PeerId{} || hello.peer == expect;
    if (!meant || hello.peer == PeerId{}) {
        code = wire::GoodbyeCode::wrong_target;
        return error(errc::wrong_peer, "peer " + (role_ == Role::acceptor ? to_string(me.peer) : hello.name));
    }
    const auto proven = transport_->proven();
    if (proven && hello.peer != (role_ == Role::acceptor ? proven->initiator : proven->acceptor)) {
        code = wire::GoodbyeCode::wrong_target;
        return error(errc::wrong_peer, "it has proven to be another than peer " + to_string(hello.peer));
    }
    return success();
}

Awaitable<void> Link::refuse(wire::GoodbyeCode code, std::string message) {
    const Bytes goodbye = wire::encode_goodbye({code, std::move(message)});
    co_await transport_->write({asio::buffer(goodbye)});
    co_await transport_->linger();
    finish(false);
}

void Link::start() {
    const auto executor = transport_->executor();
    heard_ = busy_ = Clock::now();
    auto spawn = [&](Awaitable<void> (Link::*loop)()) {
        asio::co_spawn(
            executor, [self = shared_from_this(), loop]() -> Awaitable<void> { co_await ((*self).*loop)(); },
            asio::detached);
    };
    spawn(&Link::read_loop);
    spawn(&Link::write_loop);
    spawn(&Link::watch_loop);
}

// The three loops.

Awaitable<void> Link::read_loop() {
    while (!finished_) {
        auto next = reader_.next();
        if (next && next.value() && !goodbye_) {
            if (auto handled = handle(*next.value()); !handled) next = handled.error();
        }
        if (!next) {
            if (finished_) co_return;
            if (!goodbye_) {
                ++context_->stats.malformed;
                context_->warn_of_stranger("a peer broke the link protocol", remote(), next.error());
                close(wire::GoodbyeCode::malformed, next.error().message());
            }
            // What comes now has no meaning, but it must be read for the goodbye to arrive.
            std::array<std::uint8_t, 4096> ignored{};
            while (!finished_ && !(co_await transport_->read_some(ignored)).code) continue;
            finish(false);
            co_return;
        }
        if (next.value()) continue;
        if (is_sinking()) {
            if (!co_await read_into_sink()) co_return;
            continue;
        }
        const auto done = co_await transport_->read_some(reader_.prepare());
        if (done.code) {
            finish(!goodbye_);
            co_return;
        }
        context_->stats.bytes_received += done.bytes;
        heard_ = Clock::now();
        pings_unanswered_ = 0;
        reader_.commit(done.bytes);
    }
}

Awaitable<void> Link::write_loop() {
    while (!finished_) {
        std::vector<Outgoing> batch = take_batch();
        if (batch.empty()) {
            if (goodbye_sent_) {
                co_await transport_->shutdown_send();
                co_return;
            }
            co_await work_.wait();
            continue;
        }
        std::vector<asio::const_buffer> buffers;
        buffers.reserve(2 * batch.size());
        for (const Outgoing& one : batch) {
            buffers.push_back(asio::buffer(one.frame));
            if (!one.rest.empty()) buffers.push_back(asio::buffer(one.rest.data(), one.rest.size()));
        }
        const auto done = co_await transport_->write(std::move(buffers));
        ++context_->stats.writes;
        context_->stats.bytes_sent += done.bytes;
        if (done.code) {
            finish(!goodbye_);
            co_return;
        }
        if (has_room()) room_is_there();
    }
}

Awaitable<void> Link::watch_loop() {
    const LinkConfig& config = context_->config;
    const auto tick = std::min(config.ping_interval, config.idle_timeout);
    // The acceptor waits longer: were both to close at once, a request could meet a closed door.
    const auto idle_after = role_ == Role::dialler ? config.idle_timeout : 3 * config.idle_timeout;
    while (!finished_) {
        timer_.expires_after(goodbye_ ? std::chrono::duration_cast<Duration>(goodbye_timeout) : tick);
        const auto [code] = co_await timer_.async_wait(as_result);
        if (finished_) co_return;
        if (goodbye_) {
            if (!code) finish(false);
            continue;
        }
        const auto now = Clock::now();
        if (!streams_.empty()) {
            busy_ = now;
        } else if (now - busy_ >= idle_after) {
            close(wire::GoodbyeCode::closing, "idle");
            continue;
        } else if (heard_ >= synced_) {
            pings_unanswered_ = 0;
            continue;
        }
        if (now - heard_ < config.ping_interval) continue;
        if (pings_unanswered_ >= pings_unanswered_max) {
            context_->log.warn("link", "a peer fell silent", {{"remote_peer", to_string(peer_)}});
            finish(true);
            co_return;
        }
        ++pings_unanswered_;
        queue_control(wire::encode_frame(FrameType::ping, 0, {}));
    }
}

// Frames that come.

Result<void> Link::handle(const wire::FrameView& frame) {
    switch (frame.header.type) {
        case FrameType::hello:
            return error(wire::errc::malformed, "a second hello");
        case FrameType::ping:
            pong_ = wire::encode_frame(FrameType::pong, 0, frame.payload);
            work_.notify();
            return success();
        case FrameType::pong:
            return success();
        case FrameType::sync:
            ++context_->stats.syncs_received;
            if (context_->on_sync)
                context_->on_sync(peer_, remote(), Bytes(frame.payload.begin(), frame.payload.end()));
            return success();
        case FrameType::goodbye: {
            EXA_TRY(const wire::Goodbye goodbye, wire::decode_goodbye(frame.payload));
            if (goodbye.code != wire::GoodbyeCode::closing)
                context_->log.warn("link", "a peer closed the link",
                                   {{"remote_peer", to_string(peer_)},
                                    {"code", wire::to_string(goodbye.code)},
                                    {"reason", goodbye.message}});
            finish(false);
            return success();
        }
        case FrameType::open:
        case FrameType::head:
        case FrameType::data:
        case FrameType::end:
        case FrameType::cancel:
        case FrameType::credit:
            return role_ == Role::dialler ? handle_as_dialler(frame) : handle_as_acceptor(frame);
    }
    return error(wire::errc::unknown_kind);
}

Result<void> Link::handle_as_dialler(const wire::FrameView& frame) {
    const FrameType type = frame.header.type;
    const std::uint32_t id = frame.header.stream;
    if (type != FrameType::head && type != FrameType::data && type != FrameType::end)
        return error(wire::errc::malformed, std::string(to_string(type)) + " from an acceptor");
    if (id > last_stream_) return error(wire::errc::malformed, "stream " + std::to_string(id) + " was never opened");
    StreamState* stream = find(id);
    if (stream == nullptr) return success();  // cancelled here while this was on its way
    if (type == FrameType::head) {
        if (std::exchange(stream->answered, true)) return error(wire::errc::malformed, "a late head");
        EXA_TRY(auto head, wire::decode_head(frame.payload));
        stream->inbox.push(std::move(head));
    } else if (type == FrameType::data) {
        return handle_data(*stream, frame);
    } else {
        EXA_TRY(auto end, wire::decode_end(frame.payload));
        stream->inbox.push(std::move(end));
        stream->ended = true;
    }
    stream->notify();
    if (stream->ended) forget(streams_.at(id));
    return success();
}

Result<void> Link::handle_data(StreamState& stream, const wire::FrameView& frame) {
    if (stream.sink) {
        EXA_TRY(begin_sinking(stream, frame.header.length, frame.payload));
        consume(stream, frame.header.length);
        return success();
    }
    if (stream.credit <= 0) return error(wire::errc::malformed, "data beyond its credit");
    EXA_TRY(auto data, wire::decode_data(frame.payload, frame.header.choice));
    stream.answered = true;
    stream.credit -= frame.header.length;
    stream.inbox.push(std::move(data));
    stream.notify();
    return success();
}

bool Link::is_sinking() const {
    const auto part = reader_.coming();
    if (role_ != Role::dialler || goodbye_ || !part || part->header.type != FrameType::data) return false;
    const auto at = streams_.find(part->header.stream);
    return at != streams_.end() && at->second->sink && part->payload.size() >= wire::bare_data_payload_size(0);
}

Result<void> Link::begin_sinking(StreamState& stream, std::uint32_t length, ByteView payload) {
    if (stream.credit <= 0) return error(wire::errc::malformed, "data beyond its credit");
    EXA_TRY(const ByteView bytes, wire::decode_bare_data(payload));
    // Whoever wants data as it comes wants more of it on its way than one frame.
    if (!std::exchange(stream.answered, true)) {
        stream.credit += sink_credit;
        queue_control(wire::encode_credit(stream.id, sink_credit));
    }
    stream.credit -= length;
    sink(streams_.at(stream.id), bytes);
    return success();
}

void Link::sink(const std::shared_ptr<StreamState>& state, ByteView bytes) {
    // Whoever is told may let go of it.
    while (const std::shared_ptr<DataSink> sink = bytes.empty() ? nullptr : state->sink) {
        const std::span<std::uint8_t> room = sink->room();
        const std::size_t count = std::min(room.size(), bytes.size());
        std::copy_n(bytes.begin(), count, room.begin());
        bytes = bytes.subspan(count);
        if (!sink->filled(count)) cancel(state);
    }
}

// The reader of a stream without a sink does this as it reads.
void Link::consume(StreamState& stream, std::uint32_t bytes) {
    stream.ungranted += bytes;
    if (stream.ended || stream.broken || stream.cancelled || stream.ungranted < sink_grant) return;
    stream.credit += stream.ungranted;
    queue_control(wire::encode_credit(stream.id, std::exchange(stream.ungranted, 0)));
}

Awaitable<bool> Link::read_into_sink() {
    const wire::FramePart part = reader_.take_coming();
    const auto state = streams_.at(part.header.stream);
    if (const auto begun = begin_sinking(*state, part.header.length, part.payload); !begun) {
        ++context_->stats.malformed;
        context_->warn_of_stranger("a peer broke the link protocol", remote(), begun.error());
        close(wire::GoodbyeCode::malformed, begun.error().message());
    }
    std::array<std::uint8_t, 4096> unwanted{};
    std::size_t missing = part.missing;
    while (missing > 0) {
        // Kept for as long as the network may write to it, whatever becomes of the stream.
        const std::shared_ptr<DataSink> sink = state->sink;
        const std::span<std::uint8_t> room = sink ? sink->room() : std::span<std::uint8_t>(unwanted);
        const std::size_t count = std::min(room.size(), missing);
        // The next frame begins right behind: with a read of its own it would cost as much as the whole piece.
        const std::span<std::uint8_t> behind =
            count == missing ? reader_.prepare(ahead_bytes).first(ahead_bytes) : std::span<std::uint8_t>();
        const auto done = co_await transport_->read_some(room.first(count), behind);
        if (done.code) {
            finish(!goodbye_);
            co_return false;
        }
        context_->stats.bytes_received += done.bytes;
        heard_ = Clock::now();
        pings_unanswered_ = 0;
        const std::size_t filled = std::min(count, done.bytes);
        reader_.commit(done.bytes - filled);
        missing -= filled;
        if (sink && state->sink && !sink->filled(filled)) cancel(state);
    }
    consume(*state, part.header.length);
    co_return !finished_;
}

Result<void> Link::handle_as_acceptor(const wire::FrameView& frame) {
    const std::uint32_t id = frame.header.stream;
    if (frame.header.type == FrameType::open) return handle_open(frame);
    if (frame.header.type != FrameType::cancel && frame.header.type != FrameType::credit)
        return error(wire::errc::malformed, std::string(to_string(frame.header.type)) + " from a dialler");
    if (id > last_stream_) return error(wire::errc::malformed, "stream " + std::to_string(id) + " was never opened");
    if (frame.header.type == FrameType::cancel) {
        handle_cancel(id);
        return success();
    }
    EXA_TRY(const std::uint32_t credit, wire::decode_credit(frame.payload));
    StreamState* stream = find(id);
    if (stream == nullptr) return success();
    stream->credit += credit;
    if (stream->credit > std::numeric_limits<std::int32_t>::max())
        return error(wire::errc::malformed, "more than 2 GiB of credit");
    stream->notify();
    return success();
}

Result<void> Link::handle_open(const wire::FrameView& frame) {
    const std::uint32_t id = frame.header.stream;
    if (id <= last_stream_) return error(wire::errc::malformed, "stream " + std::to_string(id) + " is not new");
    last_stream_ = id;
    const LinkConfig& config = context_->config;
    if (control_bytes_ > control_bytes_max) return error(wire::errc::malformed, "answers are not read");
    if (streams_.size() >= config.streams_max || open_bytes_ + frame.payload.size() > config.open_bytes_max) {
        queue_control(wire::encode_end(id, {wire::EndCode::busy, "too many streams on this link", std::nullopt}));
        return success();
    }
    EXA_TRY(auto open, wire::decode_open(frame.payload));
    const auto state = std::make_shared<StreamState>(id, transport_->executor());
    state->open_bytes = frame.payload.size();
    open_bytes_ += state->open_bytes;
    streams_.emplace(id, state);
    ++context_->stats.streams_now;
    ++context_->stats.streams_opened;
    auto stream = std::make_shared<LinkStream>(shared_from_this(), state);
    // Without an owner the stream is dropped here, which answers that it failed.
    if (context_->on_open) context_->on_open(std::move(stream), std::move(open));
    return success();
}

void Link::handle_cancel(std::uint32_t id) {
    const auto at = streams_.find(id);
    if (at == streams_.end()) return;  // it ended while this was on its way
    const auto state = at->second;
    state->cancelled = true;
    ++context_->stats.streams_cancelled;
    forget(state);
    state->notify();
    room_.notify();
    if (auto handler = std::exchange(state->on_cancel, nullptr)) handler();
}

// Frames that go.

void Link::room_is_there() {
    room_.notify();
    for (const auto& waiting : std::exchange(crowded_, {}))
        if (const auto state = waiting.lock()) state->notify();
}

void Link::queue_control(Bytes frame) {
    control_bytes_ += frame.size();
    control_.push(std::move(frame));
    work_.notify();
}

void Link::queue_bulk(Outgoing outgoing, const std::shared_ptr<StreamState>& state) {
    bulk_bytes_ += outgoing.size();
    ++state->queued_frames;
    bulk_.push({std::move(outgoing), state});
    work_.notify();
}

std::vector<Link::Outgoing> Link::take_batch() {
    std::vector<Outgoing> batch;
    batch.reserve(std::min(batch_frames_max, 1 + control_.size() + bulk_.size()));
    std::size_t bytes = 0;
    auto full = [&] { return batch.size() >= batch_frames_max || bytes >= batch_bytes_max; };
    auto take = [&](Outgoing&& outgoing) {
        bytes += outgoing.size();
        batch.push_back(std::move(outgoing));
    };
    if (pong_) take({std::move(*std::exchange(pong_, std::nullopt)), {}, nullptr});
    while (!control_.empty() && !full()) {
        control_bytes_ -= control_.front().size();
        take({control_.pop(), {}, nullptr});
    }
    while (!bulk_.empty() && !full()) {
        Queued queued = bulk_.pop();
        bulk_bytes_ -= queued.outgoing.size();
        --queued.stream->queued_frames;
        if (!queued.stream->cancelled) {
            queued.stream->open_sent = true;
            take(std::move(queued.outgoing));
        }
    }
    if (batch.empty() && goodbye_ && !goodbye_sent_) {
        goodbye_sent_ = true;
        take({*goodbye_, {}, nullptr});
    }
    return batch;
}

Result<void> Link::send_sync(ByteView message) {
    if (message.size() > wire::frame_payload_max(FrameType::sync))
        return error(errc::too_large, "sync of " + std::to_string(message.size()) + " bytes");
    if (!usable()) return error(errc::broken, "link to " + to_string(peer_));
    if (control_bytes_ + message.size() > control_bytes_max) return error(errc::too_many, "sync messages wait");
    ++context_->stats.syncs_sent;
    // A link that carries syncs is not idle.
    busy_ = synced_ = Clock::now();
    queue_control(wire::encode_frame(FrameType::sync, 0, message));
    return success();
}

// The end.

void Link::close(wire::GoodbyeCode code, std::string message) {
    if (!usable()) return;
    // Nobody writes a goodbye yet, and the timer that bounds the hello would be gone.
    if (!greeted_) return finish(false);
    goodbye_ = wire::encode_goodbye({code, std::move(message)});
    if (code == wire::GoodbyeCode::malformed) {
        control_.clear();
        bulk_.clear();
        control_bytes_ = bulk_bytes_ = 0;
    }
    work_.notify();
    room_.notify();
    timer_.cancel();
}

void Link::retire() {
    retiring_ = true;
    if (streams_.empty()) close(wire::GoodbyeCode::closing, "another key is in use");
}

void Link::finish(bool broken) {
    if (std::exchange(finished_, true)) return;
    const auto self = shared_from_this();
    transport_->close();
    timer_.cancel();
    --context_->stats.links_now;
    if (broken && greeted_) ++context_->stats.links_broken;
    while (!streams_.empty()) {
        const auto state = streams_.begin()->second;
        state->broken = true;
        forget(state);
        state->notify();
        if (auto handler = std::exchange(state->on_cancel, nullptr))
            asio::post(transport_->executor(), std::move(handler));
    }
    control_.clear();
    bulk_.clear();
    work_.notify();
    room_.notify();
    if (context_->on_finished) context_->on_finished(self, broken && greeted_);
}

void Link::forget(std::shared_ptr<StreamState> state) {
    if (streams_.erase(state->id) == 0) return;
    open_bytes_ -= state->open_bytes;
    --context_->stats.streams_now;
    busy_ = Clock::now();
    if (retiring_) retire();
}

StreamState* Link::find(std::uint32_t id) {
    const auto at = streams_.find(id);
    return at == streams_.end() ? nullptr : at->second.get();
}

}  // namespace exa::io
