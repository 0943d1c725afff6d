#include "io/http/server.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>
#include <optional>
#include <set>
#include <utility>

#include "io/http/connection.h"
#include "io/net.h"

namespace exa::io::http {

namespace asio = boost::asio;
using asio::ip::tcp;
using Clock = std::chrono::steady_clock;

namespace {

// How often deadlines are looked at: a quarter of the shortest, so that none is late by more than that.
Duration sweep_interval(const HttpConfig& config) {
    const Duration shortest = std::min({config.handshake_timeout, config.header_timeout, config.body_timeout,
                                        config.idle_timeout, config.write_timeout, config.drain_linger});
    return std::clamp<Duration>(shortest / 4, std::chrono::milliseconds(5), std::chrono::seconds(1));
}

}  // namespace

struct HttpServer::State : std::enable_shared_from_this<HttpServer::State> {
    State(asio::io_context& context, HttpConfig config, Handler handler, Log& log)
        : io(context),
          shared(std::make_shared<HttpContext>(context, config, std::move(handler), log)),
          sweep_timer(context),
          closed_one(context.get_executor()) {}

    Awaitable<void> accept_loop();
    Awaitable<void> sweep_loop();
    void adopt(HttpConnection::Socket socket);
    void cut_all();

    asio::io_context& io;
    std::shared_ptr<HttpContext> shared;
    std::optional<tcp::acceptor> acceptor;
    Endpoint bound;
    asio::steady_timer sweep_timer;
    Signal closed_one;  // a connection
    bool stopped = false;
    bool gone = false;
};

Awaitable<void> HttpServer::State::accept_loop() {
    const auto self = shared_from_this();
    while (!stopped) {
        if (shared->connections.size() >= shared->connections_limit()) {
            co_await closed_one.wait();
            continue;
        }
        auto [code, socket] = co_await acceptor->async_accept(io, as_result);
        if (!code) {
            adopt(std::move(socket));
        } else if (!stopped) {
            // Out of descriptors, most likely: what is open must end before more can be taken.
            shared->log.warn("http", "accept failed", {{"reason", code.message()}});
            asio::steady_timer pause(io, std::chrono::milliseconds(100));
            co_await pause.async_wait(as_result);
        }
    }
}

void HttpServer::State::adopt(HttpConnection::Socket socket) {
    if (gone) return;
    const bool reserved = shared->connections.size() >= shared->config.connections_max && shared->is_essential;
    auto connection = std::make_shared<HttpConnection>(shared, std::move(socket), reserved);
    shared->connections.insert(connection);
    ++shared->stats.connections;
    ++shared->stats.connections_now;
    connection->start();
}

Awaitable<void> HttpServer::State::sweep_loop() {
    const auto self = shared_from_this();
    const Duration interval = sweep_interval(shared->config);
    while (!gone) {
        sweep_timer.expires_after(interval);
        co_await sweep_timer.async_wait(as_result);
        const auto now = Clock::now();
        for (const auto& connection : std::set(shared->connections)) connection->sweep(now);
    }
}

void HttpServer::State::cut_all() {
    for (const auto& connection : std::set(shared->connections)) connection->cut();
}

HttpServer::HttpServer(asio::io_context& context, HttpConfig config, Handler handler, Log& log)
    : state_(std::make_shared<State>(context, config, std::move(handler), log)) {
    state_->shared->on_connection_closed = [state = std::weak_ptr<State>(state_)] {
        if (const auto alive = state.lock()) alive->closed_one.notify();
    };
}

HttpServer::~HttpServer() {
    stop_accepting();
    state_->gone = true;
    state_->cut_all();
    // The loop may never run again to let them leave by themselves, and they hold what holds them.
    state_->shared->connections.clear();
    state_->sweep_timer.cancel();
    state_->closed_one.notify();
}

void HttpServer::set_tls(std::shared_ptr<const tls::TlsSettings> tls) {
    state_->shared->tls = std::move(tls);
}

void HttpServer::set_limits(const HttpConfig& config) {
    HttpConfig& now = state_->shared->config;
    now.header_bytes_max = config.header_bytes_max;
    now.body_bytes_max = config.body_bytes_max;
    now.connections_max = config.connections_max;
    now.idle_timeout = config.idle_timeout;
    // One that waits for a connection to close may accept more now.
    state_->closed_one.notify();
}

void HttpServer::on_head(std::function<HeadVerdict(const HttpRequest&)> judge) {
    state_->shared->judge_head = std::move(judge);
}

void HttpServer::set_essential(std::function<bool(const HttpRequest&)> is_essential) {
    state_->shared->is_essential = std::move(is_essential);
}

void HttpServer::set_body_budget(std::shared_ptr<BodyBudget> budget) {
    state_->shared->bodies = std::move(budget);
}

void HttpServer::on_outcome(std::function<void(const HttpOutcome&)> handler) {
    state_->shared->on_outcome = std::move(handler);
}

Result<void> HttpServer::listen(Endpoint endpoint) {
    EXA_TRY(auto acceptor, listen_tcp(state_->io, "http", endpoint, state_->shared->config.reuse_port));
    boost::system::error_code code;
    state_->bound = from_asio(acceptor.local_endpoint(code));
    state_->acceptor.emplace(std::move(acceptor));
    asio::co_spawn(state_->io, [state = state_] { return state->accept_loop(); }, asio::detached);
    asio::co_spawn(state_->io, [state = state_] { return state->sweep_loop(); }, asio::detached);
    return success();
}

Endpoint HttpServer::endpoint() const {
    return state_->bound;
}

void HttpServer::stop_accepting() {
    if (std::exchange(state_->stopped, true) || !state_->acceptor) return;
    // These clients have connected and may have sent a request already.
    while (true) {
        boost::system::error_code code;
        HttpConnection::Socket socket(state_->io);
        state_->acceptor->accept(socket, code);
        if (code) break;
        state_->adopt(std::move(socket));
    }
    boost::system::error_code ignored;
    state_->acceptor->close(ignored);
    state_->closed_one.notify();
}

Awaitable<bool> HttpServer::drain(Duration deadline) {
    const auto state = state_;
    const auto until = Clock::now() + deadline;
    stop_accepting();
    state->shared->draining = true;
    for (const auto& connection : std::set(state->shared->connections))
        connection->begin_drain(state->shared->config.drain_linger);
    asio::steady_timer late(state->io, until);
    late.async_wait([state](const boost::system::error_code& code) {
        if (!code) state->closed_one.notify();
    });
    while (!state->shared->connections.empty() && Clock::now() < until) {
        co_await state->closed_one.wait();
        if (co_await is_cancelled()) break;
    }
    late.cancel();
    const bool all_done = state->shared->connections.empty();
    state->cut_all();
    co_return all_done;
}

HttpStats HttpServer::stats() const {
    return state_->shared->stats;
}

}  // namespace exa::io::http
