#include "io/link/connection.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <utility>
#include <vector>

#include "io/errc.h"
#include "io/link/inbound_stream.h"
#include "io/steady_time.h"

namespace exa::io::link {

namespace asio = boost::asio;

LinkConnection::LinkConnection(std::shared_ptr<LinkContext> context, std::unique_ptr<Transport> transport,
                               LinkMachine::Role role)
    : context_(std::move(context)),
      transport_(std::move(transport)),
      machine_(context_->config, context_->identity, context_->stats, role, steady_now()),
      work_(transport_->executor()),
      room_(transport_->executor()),
      timer_(transport_->executor()) {
    ++context_->stats.links_now;
}

KeyId LinkConnection::key() const {
    const auto proven = transport_->proven();
    return proven ? proven->key : KeyId{};
}

// The hello.

Awaitable<Result<void>> LinkConnection::handshake(PeerId expect) {
    const auto self = shared_from_this();
    asio::co_spawn(executor(), [self]() { return self->timer_loop(); }, asio::detached);
    if (auto secured = co_await secure(); !secured) {
        finish(false);
        co_return secured.error();
    }
    machine_.start_handshake(expect, transport_->proven());
    co_await flush_hello();
    if (auto heard = co_await hear_hello(); !heard) {
        finish(false);
        co_return heard.error();
    }
    co_await flush_hello();
    if (const auto& refusal = machine_.refusal()) {
        ++context_->stats.links_refused;
        context_->warn_of_unknown("refused a link", remote(), *refusal);
        co_await transport_->linger();
        finish(false);
        co_return *refusal;
    }
    if (!context_->is_welcome(key())) {
        finish(false);
        co_return error(errc::wrong_key, "it was removed meanwhile");
    }
    ++context_->stats.links_opened;
    co_return success();
}

Awaitable<Result<void>> LinkConnection::secure() {
    const auto secured = co_await transport_->secure();
    if (secured) co_return success();
    const Error why = machine_.hello_timed_out() ? error(errc::timed_out, "TLS handshake with " + to_string(remote()))
                                                 : secured.error();
    context_->count_refusal(why);
    // What a dialler meets is its owner's to report: another key may do.
    const bool is_acceptor = machine_.role() == LinkMachine::Role::acceptor;
    if (is_acceptor && why.code != errc::timed_out && why.code != errc::broken)
        context_->warn_of_unknown("refused a link", remote(), why);
    if (is_acceptor && (why.code == errc::wrong_key || why.code == errc::wrong_peer)) co_await transport_->linger();
    co_return why;
}

Awaitable<Result<void>> LinkConnection::hear_hello() {
    const bool is_encrypted = context_->is_encrypted();
    for (bool first = true;; first = false) {
        const auto space = machine_.read_space();
        const auto done = co_await transport_->read_some(space.first);
        if (done.code) {
            const bool late = machine_.hello_timed_out();
            const bool unanswered = first && machine_.role() == LinkMachine::Role::dialler && !late && !is_encrypted;
            const char* const hint = unanswered ? " (closed without an answer: is that peer's cluster encrypted?)" : "";
            co_return error(late ? errc::timed_out : errc::broken, "hello of " + to_string(remote()) + hint);
        }
        if (first && !is_encrypted && looks_like_tls(space.first.first(done.bytes))) {
            const Error why = error(errc::encryption_mismatch, "the other end encrypts: this peer has no key");
            context_->count_refusal(why);
            context_->warn_of_unknown("refused a link", remote(), why);
            co_return why;
        }
        context_->stats.bytes_received += done.bytes;
        const TimePoint now = steady_now();
        machine_.handle_received(now, done.bytes);
        auto judged = machine_.handle_hello(now);
        update();
        if (!judged) co_return Error{judged.error().code, to_string(remote()) + ": " + judged.error().detail};
        if (judged.value()) co_return success();
    }
}

Awaitable<void> LinkConnection::flush_hello() {
    for (auto batch = machine_.poll_transmit(); !batch.empty(); batch = machine_.poll_transmit())
        if (!co_await write(std::move(batch))) co_return;
}

// The loops.

void LinkConnection::start() {
    asio::co_spawn(executor(), [self = shared_from_this()]() { return self->read_loop(); }, asio::detached);
    asio::co_spawn(executor(), [self = shared_from_this()]() { return self->write_loop(); }, asio::detached);
}

Awaitable<void> LinkConnection::read_loop() {
    const auto self = shared_from_this();
    TimePoint now = steady_now();
    while (true) {
        while (machine_.handle_frame(now)) update();
        update();
        if (machine_.finished()) co_return;
        const auto space = machine_.read_space();
        const auto done = co_await transport_->read_some(space.first, space.then);
        now = steady_now();
        if (done.code) {
            machine_.handle_disconnected();
        } else {
            context_->stats.bytes_received += done.bytes;
            machine_.handle_received(now, done.bytes);
        }
    }
}

Awaitable<void> LinkConnection::write_loop() {
    const auto self = shared_from_this();
    while (!machine_.finished()) {
        auto batch = machine_.poll_transmit();
        if (!batch.empty()) {
            if (co_await write(std::move(batch))) {
                machine_.handle_written();
                if (has_room()) room_.notify();
            } else {
                machine_.handle_disconnected();
            }
            update();
        } else if (machine_.goodbye_sent()) {
            co_await transport_->shutdown_send();
            co_return;
        } else {
            writer_waits_ = true;
            co_await work_.wait();
        }
    }
}

Awaitable<bool> LinkConnection::write(std::vector<OutgoingFrame> batch) {
    std::vector<asio::const_buffer> buffers;
    buffers.reserve(2 * batch.size());
    for (const OutgoingFrame& one : batch) {
        buffers.push_back(asio::buffer(one.frame));
        if (!one.rest.empty()) buffers.push_back(asio::buffer(one.rest.data(), one.rest.size()));
    }
    const auto done = co_await transport_->write(std::move(buffers));
    ++context_->stats.writes;
    context_->stats.bytes_sent += done.bytes;
    co_return !done.code;
}

Awaitable<void> LinkConnection::timer_loop() {
    const auto self = shared_from_this();
    while (!machine_.finished()) {
        armed_for_ = machine_.next_timeout();
        timer_.expires_at(to_steady(armed_for_));
        co_await timer_.async_wait(as_result);
        machine_.handle_timeout(steady_now());
        update();
    }
}

// What the machine reports.

void LinkConnection::update() {
    // What a handler sets off is carried out by the call that called the handler.
    if (std::exchange(updating_, true)) return;
    std::shared_ptr<LinkConnection> self;
    while (auto event = machine_.poll_event()) {
        if (!self) self = shared_from_this();
        std::visit([this](auto& one) { carry_out(one); }, *event);
    }
    updating_ = false;
    if (writer_waits_ && (machine_.has_transmit() || machine_.finished())) {
        writer_waits_ = false;
        work_.notify();
    }
    if (!machine_.usable()) room_.notify();
    if (machine_.next_timeout() < armed_for_) {
        armed_for_ = machine_.next_timeout();
        timer_.cancel();
    }
}

void LinkConnection::carry_out(StreamReady& ready) {
    if (ready.stream->on_ready) ready.stream->on_ready();
}

void LinkConnection::carry_out(StreamOpened& opened) {
    auto stream = std::make_shared<InboundStream>(shared_from_this(), std::move(opened.stream));
    // Without an owner the stream is dropped here, which answers that it failed.
    if (context_->on_open) context_->on_open(std::move(stream), std::move(*opened.open));
}

void LinkConnection::carry_out(StreamAborted& aborted) {
    auto handler = std::exchange(aborted.stream->on_cancel, nullptr);
    if (!handler) return;
    // A link may finish within a call of the handler's owner.
    if (aborted.stream->broken)
        asio::post(executor(), std::move(handler));
    else
        handler();
}

void LinkConnection::carry_out(SyncReceived& sync) {
    if (context_->on_sync) context_->on_sync(peer(), remote(), std::move(sync.message));
}

void LinkConnection::carry_out(GoodbyeReceived& received) {
    if (received.goodbye.code == wire::GoodbyeCode::closing) return;
    context_->log.warn("link", "a peer closed the link",
                       {{"remote_peer", to_string(peer())},
                        {"code", wire::to_string(received.goodbye.code)},
                        {"reason", received.goodbye.message}});
}

void LinkConnection::carry_out(ProtocolBroken& broken) {
    ++context_->stats.malformed;
    context_->warn_of_unknown(
        handshake_done() ? "a peer broke the link protocol" : "closed a connection that is not a link", remote(),
        broken.why);
}

void LinkConnection::carry_out(PeerSilent&) {
    context_->log.warn("link", "a peer fell silent", {{"remote_peer", to_string(peer())}});
}

void LinkConnection::carry_out(LinkFinished& finished) {
    transport_->close();
    timer_.cancel();
    --context_->stats.links_now;
    if (finished.broken) ++context_->stats.links_broken;
    if (context_->on_finished) context_->on_finished(shared_from_this(), finished.broken);
}

// Commands.

Awaitable<Result<std::shared_ptr<OutboundStream>>> LinkConnection::open(std::shared_ptr<const wire::Open> open) {
    const auto self = shared_from_this();
    while (usable() && !has_room()) {
        co_await room_.wait();
        if (co_await is_cancelled()) co_return error(errc::cancelled);
    }
    co_return open_now(*open);
}

Result<std::shared_ptr<OutboundStream>> LinkConnection::open_now(const wire::Open& open) {
    EXA_TRY(auto stream, machine_.open(open));
    update();
    return std::make_shared<OutboundStream>(shared_from_this(), std::move(stream));
}

Result<void> LinkConnection::send_sync(ByteView message) {
    auto sent = machine_.send_sync(steady_now(), message);
    update();
    return sent;
}

void LinkConnection::close(wire::GoodbyeCode code, std::string message) {
    machine_.close(steady_now(), code, std::move(message));
    update();
}

void LinkConnection::close_when_idle() {
    machine_.close_when_idle(steady_now());
    update();
}

void LinkConnection::finish(bool broken) {
    machine_.finish(broken);
    update();
}

}  // namespace exa::io::link
