#include "io/resp/server.h"

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <iterator>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "io/async.h"
#include "io/net.h"
#include "resp/look_ahead.h"

namespace exa::io::resp {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr std::size_t buffers_at_once = 16;
// Of an operation with many keys, at a time: other connections have their turn in between.
constexpr std::size_t keys_at_once = 1024;

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
    struct Connection {
        Connection(exa::resp::SessionConfig config, const Impl& server, exa::resp::MakeBody make_body,
                   exa::resp::ArgumentBudget& budget)
            : session(std::move(config), server.authenticate_),
              parser(server.config_.limits, std::move(make_body), budget) {}

        exa::resp::Session session;
        exa::resp::RequestParser parser;
        exa::resp::ReplyWriter out;
        exa::resp::LookAhead look_ahead;
    };

    Awaitable<void> accept();
    Awaitable<void> serve(std::shared_ptr<tcp::socket> socket, std::uint64_t id);
    // The requests that the parser has. False: the connection is at its end.
    Awaitable<bool> answer(tcp::socket& socket, Connection& connection);
    Awaitable<void> answer_gets(Connection& connection, std::vector<exa::resp::Operation>& gets);
    // In slices if it has many keys.
    Awaitable<exa::resp::Outcome> run(exa::resp::Operation operation);
    Awaitable<exa::resp::Outcome> run_whole(exa::resp::Operation operation);
    static Awaitable<bool> send(tcp::socket& socket, exa::resp::ReplyWriter& out);

    asio::io_context& context_;
    const RespConfig config_;
    exa::resp::Keyspace& keyspace_;
    const exa::resp::Session::Authenticate authenticate_;
    const std::function<WallTime()> wall_;
    std::optional<tcp::acceptor> acceptor_;
    exa::resp::ArgumentBudget argument_budget_;
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
    std::optional<Connection> connection;
    connection.emplace(
        exa::resp::SessionConfig{config_.software, id, config_.needs_auth}, *this,
        [&](const exa::resp::Request& so_far, std::uint64_t bytes) -> std::optional<exa::resp::Body> {
            const exa::resp::Session& session = connection->session;
            if (!session.may_store()) return std::nullopt;
            return keyspace_.make_body(session.tenant(), so_far, bytes);
        },
        argument_budget_);
    connection->parser.set_restricted(!connection->session.may_store());
    while (co_await answer(*socket, *connection)) {
        std::array<asio::mutable_buffer, 2> buffers;
        const auto room = connection->parser.buffers();
        for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i] = asio::buffer(room[i].data(), room[i].size());
        const auto [failed, bytes] = co_await socket->async_read_some(buffers, as_result);
        if (failed) co_return;
        connection->parser.commit(bytes);
    }
}

Awaitable<bool> RespServer::Impl::answer(tcp::socket& socket, Connection& connection) {
    exa::resp::Session& session = connection.session;
    exa::resp::RequestParser& parser = connection.parser;
    exa::resp::ReplyWriter& out = connection.out;
    std::vector<exa::resp::Operation> gets;
    auto request = parser.next();
    while (request) {
        ++stats_.requests;
        const bool is_get = session.is_plain_get(*request);
        if (auto operation = session.handle(wall_(), std::move(*request), out)) {
            if (is_get)
                gets.push_back(std::move(*operation));
            else
                session.finish(co_await run(std::move(*operation)), out);
        }
        parser.set_restricted(!session.may_store());
        if (session.closing()) break;
        request = parser.next();
        const bool goes_on =
            request && session.is_plain_get(*request) && gets.size() < connection.look_ahead.gets_max();
        if (!gets.empty() && !goes_on) co_await answer_gets(connection, gets);
        if (out.bytes() >= config_.reply_bytes_max && !co_await send(socket, out)) co_return false;
    }
    if (parser.broken()) out.error("ERR Protocol error: " + std::string(parser.error()));
    if (!out.empty() && !co_await send(socket, out)) co_return false;
    co_return !parser.broken() && !session.closing();
}

Awaitable<void> RespServer::Impl::answer_gets(Connection& connection, std::vector<exa::resp::Operation>& gets) {
    exa::resp::Operation all = std::move(gets[0]);
    for (std::size_t i = 1; i < gets.size(); ++i) all.keys.push_back(std::move(gets[i].keys[0]));
    gets.clear();
    exa::resp::Outcome outcome = co_await run(std::move(all));
    std::uint64_t bytes = 0;
    const std::size_t count = outcome.values.size();
    for (auto& value : outcome.values) {
        bytes += value ? value->size() : 0;
        exa::resp::Outcome one;
        one.values.push_back(std::move(value));
        connection.session.finish(one, connection.out);
    }
    connection.look_ahead.record(count, bytes);
}

Awaitable<exa::resp::Outcome> RespServer::Impl::run(exa::resp::Operation operation) {
    if (operation.keys.size() <= keys_at_once) co_return co_await run_whole(std::move(operation));
    exa::resp::Outcome all;
    for (std::size_t at = 0; at < operation.keys.size(); at += keys_at_once) {
        const auto slice = [at](std::vector<std::string>& strings) {
            const auto first = strings.begin() + static_cast<std::ptrdiff_t>(std::min(at, strings.size()));
            const auto last =
                strings.begin() + static_cast<std::ptrdiff_t>(std::min(at + keys_at_once, strings.size()));
            return std::vector<std::string>(std::make_move_iterator(first), std::make_move_iterator(last));
        };
        exa::resp::Operation part;
        part.verb = operation.verb;
        part.tenant = operation.tenant;
        part.keys = slice(operation.keys);
        part.values = slice(operation.values);
        exa::resp::Outcome outcome = co_await run_whole(std::move(part));
        all.number += outcome.number;
        std::ranges::move(outcome.values, std::back_inserter(all.values));
        if (!outcome.error.empty()) all.error = std::move(outcome.error);
        co_await asio::post(context_, as_result);
    }
    co_return all;
}

Awaitable<exa::resp::Outcome> RespServer::Impl::run_whole(exa::resp::Operation operation) {
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
