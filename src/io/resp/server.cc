#include "io/resp/server.h"

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "io/async.h"
#include "io/net.h"

namespace exa::io::resp {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr std::size_t buffers_at_once = 16;

// The answer of a keyspace on its way from whatever thread to the connection that waits.
struct Answer {
    explicit Answer(const asio::any_io_executor& executor) : arrived(executor) {}

    std::optional<exa::resp::Outcome> outcome;
    Signal arrived;
};

}  // namespace

class RespServer::Impl : public std::enable_shared_from_this<Impl> {
  public:
    Impl(asio::io_context& context, RespConfig config, exa::resp::Keyspace& keyspace,
         exa::resp::Session::Authenticate authenticate, std::function<WallTime()> wall)
        : context_(context),
          config_(std::move(config)),
          keyspace_(keyspace),
          authenticate_(std::move(authenticate)),
          wall_(std::move(wall)) {}

    Result<Endpoint> listen(const Endpoint& endpoint);
    void stop();
    const RespStats& stats() const { return stats_; }

  private:
    Awaitable<void> accept();
    Awaitable<void> serve(std::shared_ptr<tcp::socket> socket, std::uint64_t id);
    Awaitable<exa::resp::Outcome> run(exa::resp::Operation operation);
    static Awaitable<bool> send(tcp::socket& socket, exa::resp::ReplyWriter& out);

    asio::io_context& context_;
    const RespConfig config_;
    exa::resp::Keyspace& keyspace_;
    const exa::resp::Session::Authenticate authenticate_;
    const std::function<WallTime()> wall_;
    std::optional<tcp::acceptor> acceptor_;
    std::set<std::shared_ptr<tcp::socket>> sockets_;
    RespStats stats_;
};

Result<Endpoint> RespServer::Impl::listen(const Endpoint& endpoint) {
    EXA_TRY(acceptor_, listen_tcp(context_, "kv.resp_listen", endpoint, false));
    asio::co_spawn(context_, [self = shared_from_this()] { return self->accept(); }, asio::detached);
    return from_asio(acceptor_->local_endpoint());
}

void RespServer::Impl::stop() {
    boost::system::error_code ignored;
    if (acceptor_) acceptor_->close(ignored);
    for (const auto& socket : sockets_) socket->close(ignored);
}

Awaitable<void> RespServer::Impl::accept() {
    const auto self = shared_from_this();
    while (acceptor_->is_open()) {
        auto [failed, accepted] = co_await acceptor_->async_accept(as_result);
        if (failed) {
            if (!acceptor_->is_open()) co_return;
            // Out of descriptors, most likely: when some are free again is not told.
            asio::steady_timer pause(context_, std::chrono::milliseconds(100));
            co_await pause.async_wait(as_result);
            continue;
        }
        if (stats_.connections_now >= config_.connections_max) {
            ++stats_.refused;
            continue;
        }
        const auto socket = std::make_shared<tcp::socket>(std::move(accepted));
        boost::system::error_code ignored;
        socket->set_option(tcp::no_delay(true), ignored);
        sockets_.insert(socket);
        ++stats_.connections_now;
        const std::uint64_t id = ++stats_.connections;
        asio::co_spawn(
            context_, [self, socket, id] { return self->serve(socket, id); },
            [self, socket](const std::exception_ptr&) {
                self->sockets_.erase(socket);
                --self->stats_.connections_now;
            });
    }
}

Awaitable<void> RespServer::Impl::serve(std::shared_ptr<tcp::socket> socket, std::uint64_t id) {
    exa::resp::Session session({config_.software, id, config_.needs_auth}, authenticate_);
    exa::resp::ReplyWriter out;
    exa::resp::RequestParser parser(
        config_.limits, [&](const exa::resp::Request& so_far, std::uint64_t bytes) -> std::optional<exa::resp::Body> {
            if (!session.may_store()) return std::nullopt;
            return keyspace_.make_body(session.tenant(), so_far, bytes);
        });
    for (;;) {
        while (auto request = parser.next()) {
            ++stats_.requests;
            if (auto operation = session.handle(wall_(), std::move(*request), out))
                session.finish(co_await run(std::move(*operation)), out);
            if (session.closing()) break;
            if (out.bytes() >= config_.reply_bytes_max && !co_await send(*socket, out)) co_return;
        }
        if (parser.broken()) out.error("ERR Protocol error: " + std::string(parser.error()));
        if (!out.empty() && !co_await send(*socket, out)) co_return;
        if (parser.broken() || session.closing()) co_return;
        std::array<asio::mutable_buffer, 2> buffers;
        const auto room = parser.buffers();
        for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i] = asio::buffer(room[i].data(), room[i].size());
        const auto [failed, bytes] = co_await socket->async_read_some(buffers, as_result);
        if (failed) co_return;
        parser.commit(bytes);
    }
}

Awaitable<exa::resp::Outcome> RespServer::Impl::run(exa::resp::Operation operation) {
    const auto answer = std::make_shared<Answer>(context_.get_executor());
    // Within the call, or posted to this thread: only this thread touches the answer.
    const auto caller = std::this_thread::get_id();
    keyspace_.run(std::move(operation), [self = shared_from_this(), answer, caller](exa::resp::Outcome outcome) {
        if (std::this_thread::get_id() == caller) {
            answer->outcome = std::move(outcome);
            answer->arrived.notify();
            return;
        }
        asio::post(self->context_, [answer, outcome = std::move(outcome)]() mutable {
            answer->outcome = std::move(outcome);
            answer->arrived.notify();
        });
    });
    while (!answer->outcome) co_await answer->arrived.wait();
    co_return std::move(*answer->outcome);
}

// Piece by piece as the socket takes them: asio::async_write would hand over 64 KiB at a time, and a value has a
// hundred times that.
Awaitable<bool> RespServer::Impl::send(tcp::socket& socket, exa::resp::ReplyWriter& out) {
    const std::vector<exa::resp::Piece> pieces = out.take();
    std::size_t first = 0;
    std::size_t sent = 0;  // of the first
    while (first < pieces.size()) {
        std::array<asio::const_buffer, buffers_at_once> buffers;
        for (std::size_t i = first; i < std::min(pieces.size(), first + buffers.size()); ++i) {
            const ByteView bytes = i == first ? pieces[i].bytes.subspan(sent) : pieces[i].bytes;
            buffers[i - first] = asio::buffer(bytes.data(), bytes.size());
        }
        const auto [failed, taken] = co_await socket.async_write_some(buffers, as_result);
        if (failed) co_return false;
        for (sent += taken; first < pieces.size() && sent >= pieces[first].bytes.size(); ++first)
            sent -= pieces[first].bytes.size();
    }
    co_return true;
}

RespServer::RespServer(asio::io_context& context, RespConfig config, exa::resp::Keyspace& keyspace,
                       exa::resp::Session::Authenticate authenticate, std::function<WallTime()> wall)
    : impl_(std::make_shared<Impl>(context, std::move(config), keyspace, std::move(authenticate), std::move(wall))) {}

RespServer::~RespServer() {
    impl_->stop();
}

Result<Endpoint> RespServer::listen(const Endpoint& endpoint) {
    return impl_->listen(endpoint);
}

void RespServer::stop() {
    impl_->stop();
}

const RespStats& RespServer::stats() const {
    return impl_->stats();
}

}  // namespace exa::io::resp
