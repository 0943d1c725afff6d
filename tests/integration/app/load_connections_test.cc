// Connections of a load test against a server that counts them.
#include "app/loadgen/connections.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../io/http_support.h"
#include "../io/support.h"
#include "io/http/server.h"
#include "support/print.h"

using namespace exa::app;
using namespace exa::app::loadgen;
using namespace exa::io;
using namespace exa::io::clock;
using namespace exa::io::http;
using namespace exa::io::test;
using exa::loadgen::Failure;

namespace {

struct Ignored final : ResponseSink {
    void on_head(const ResponseHead&) override {}
    bool on_body(std::string_view) override { return true; }
};

Awaitable<void> answer(HttpRequest, std::shared_ptr<AwaitedExchange> exchange) {
    HttpResponse response;
    response.body = "x";
    co_await exchange->respond(std::move(response));
}

const std::string request = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n";

// Accepts and keeps what it accepts.
class Listener {
  public:
    explicit Listener(asio::io_context& io) : acceptor_(io, to_asio_tcp(any_port)) { accept(); }
    exa::Endpoint endpoint() const { return from_asio(acceptor_.local_endpoint()); }
    std::size_t accepted() const { return sockets_.size(); }

  private:
    void accept() {
        acceptor_.async_accept([this](boost::system::error_code code, tcp::socket socket) {
            if (code) return;
            sockets_.push_back(std::move(socket));
            accept();
        });
    }

    tcp::acceptor acceptor_;
    std::vector<tcp::socket> sockets_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(load_connections)

BOOST_AUTO_TEST_CASE(a_burst_of_requests_is_served_by_few_connections) {
    asio::io_context io(1);
    exa::NullLog log;
    HttpServer server(io, {}, in_coroutine(io, answer), log);
    BOOST_TEST_REQUIRE(server.listen(any_port).has_value());
    const SystemClock clock;
    LoadConnections connections(io, server.endpoint(), clock, 1000);
    std::set<const ClientConnection*> used;
    int served = 0;
    drive(io, [&]() -> Awaitable<void> {
        for (int i = 0; i < 500; ++i) {
            asio::co_spawn(
                io,
                [&]() -> Awaitable<void> {
                    auto taken = co_await connections.take(seconds(5));
                    BOOST_TEST_REQUIRE(taken.connection != nullptr);
                    used.insert(taken.connection.get());
                    Ignored sink;
                    const auto done = co_await taken.connection->exchange(request, sink, seconds(5), seconds(5));
                    BOOST_TEST(done.has_value());
                    connections.hand_back(std::move(taken.connection));
                    ++served;
                },
                asio::detached);
        }
        co_await eventually([&] { return served == 500; }, "all are served");
    });
    BOOST_TEST(used.size() < 250u);
}

BOOST_AUTO_TEST_CASE(no_more_than_the_limit_are_open_and_one_handed_back_serves_who_waits) {
    asio::io_context io(1);
    Listener listener(io);
    const SystemClock clock;
    LoadConnections connections(io, listener.endpoint(), clock, 3);
    drive(io, [&]() -> Awaitable<void> {
        std::vector<LoadConnections::Taken> held;
        for (int i = 0; i < 3; ++i) held.push_back(co_await connections.take(seconds(5)));
        const auto refused = co_await connections.take(milliseconds(30));
        BOOST_TEST(refused.failure == Failure::connect_timeout);
        int waiting = 0;
        int served = 0;
        for (int i = 0; i < 2; ++i) {
            asio::co_spawn(
                io,
                [&]() -> Awaitable<void> {
                    ++waiting;
                    auto taken = co_await connections.take(seconds(5));
                    served += taken.connection != nullptr ? 1 : 0;
                    connections.hand_back(std::move(taken.connection));
                },
                asio::detached);
        }
        co_await eventually([&] { return waiting == 2; }, "both wait");
        BOOST_TEST(served == 0);
        // It never carried a request, so it is closed and makes room for a new one.
        connections.hand_back(std::move(held.back().connection));
        held.pop_back();
        co_await eventually([&] { return served == 2; }, "both are served");
        for (auto& taken : held) connections.hand_back(std::move(taken.connection));
    });
}

BOOST_AUTO_TEST_CASE(a_port_without_a_listener_is_refused_to_all_that_wait) {
    asio::io_context io(1);
    exa::Endpoint endpoint;
    {
        tcp::acceptor acceptor(io, to_asio_tcp(any_port));
        endpoint = from_asio(acceptor.local_endpoint());
    }
    const SystemClock clock;
    LoadConnections connections(io, endpoint, clock, 1000);
    int refused = 0;
    drive(io, [&]() -> Awaitable<void> {
        for (int i = 0; i < 100; ++i) {
            asio::co_spawn(
                io,
                [&]() -> Awaitable<void> {
                    const auto taken = co_await connections.take(seconds(5));
                    refused += taken.failure == Failure::refused ? 1 : 0;
                },
                asio::detached);
        }
        co_await eventually([&] { return refused == 100; }, "all are refused");
    });
}

BOOST_AUTO_TEST_CASE(closing_ends_who_waits_and_who_runs) {
    asio::io_context io(1);
    Listener listener(io);
    const SystemClock clock;
    LoadConnections connections(io, listener.endpoint(), clock, 1);
    int ended = 0;
    drive(io, [&]() -> Awaitable<void> {
        for (int i = 0; i < 3; ++i) {
            asio::co_spawn(
                io,
                [&]() -> Awaitable<void> {
                    auto taken = co_await connections.take(seconds(5));
                    if (taken.connection != nullptr) {
                        Ignored sink;
                        const auto done = co_await taken.connection->exchange(request, sink, seconds(5), seconds(5));
                        BOOST_TEST(!done.has_value());
                        connections.hand_back(std::move(taken.connection));
                    } else {
                        BOOST_TEST(taken.failure == Failure::unfinished);
                    }
                    ++ended;
                },
                asio::detached);
        }
        co_await eventually([&] { return listener.accepted() == 1; }, "one is connected");
        connections.close();
        co_await eventually([&] { return ended == 3; }, "all end");
        BOOST_TEST((co_await connections.take(seconds(1))).failure == Failure::unfinished);
    });
}

BOOST_AUTO_TEST_SUITE_END()
