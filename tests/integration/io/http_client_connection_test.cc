// A kept-alive client connection against the server, and against servers that go away.
#include "io/http/client_connection.h"

#include <string>

#include "http_support.h"
#include "io/errc.h"
#include "io/http/server.h"
#include "support.h"
#include "support/print.h"

using namespace exa::io;
using namespace exa::io::http;
using namespace exa::io::test;

namespace {

struct Collected final : ResponseSink {
    void on_head(const ResponseHead& head) override { status = head.status; }
    bool on_body(std::string_view piece) override {
        body += piece;
        return true;
    }

    int status = 0;
    std::string body;
};

std::string post(std::string_view path, std::string_view body) {
    return "POST " + std::string(path) + " HTTP/1.1\r\nhost: x\r\ncontent-length: " + std::to_string(body.size()) +
           "\r\n\r\n" + std::string(body);
}

Awaitable<void> answer(HttpRequest request, std::shared_ptr<AwaitedExchange> exchange) {
    if (request.path == "/never") {
        asio::steady_timer pause(co_await asio::this_coro::executor, seconds(30));
        exchange->on_client_left([&] { pause.cancel(); });
        co_await pause.async_wait(as_result);
        co_return;
    }
    HttpResponse response;
    response.body = request.body;
    co_await exchange->respond(std::move(response));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(http_client_connection)

BOOST_AUTO_TEST_CASE(one_connection_carries_many_requests) {
    asio::io_context io(1);
    exa::NullLog log;
    HttpServer server(io, {}, in_coroutine(io, answer), log);
    BOOST_TEST_REQUIRE(server.listen(any_port).has_value());
    const exa::Endpoint endpoint = server.endpoint();
    drive(io, [&]() -> Awaitable<void> {
        ClientConnection connection(io.get_executor());
        BOOST_TEST((co_await connection.connect(endpoint, seconds(2))).has_value());
        for (const std::size_t size : {1UL, 100UL, 100'000UL, 3UL}) {
            Collected sink;
            const std::string body(size, 'x');
            const std::string request = post("/echo", body);
            const auto done = co_await connection.exchange(request, sink, seconds(5), seconds(5));
            BOOST_TEST(done.has_value());
            BOOST_TEST(sink.status == 200);
            BOOST_TEST(sink.body == body);
            BOOST_TEST(connection.is_reusable());
        }
    });
}

BOOST_AUTO_TEST_CASE(a_server_that_closed_meanwhile_makes_the_connection_useless) {
    asio::io_context io(1);
    tcp::acceptor acceptor(io, to_asio_tcp(any_port));
    drive(io, [&]() -> Awaitable<void> {
        ClientConnection connection(io.get_executor());
        BOOST_TEST((co_await connection.connect(from_asio(acceptor.local_endpoint()), seconds(2))).has_value());
        tcp::socket peer(io);
        co_await acceptor.async_accept(peer, as_result);
        const std::string reply = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        asio::write(peer, asio::buffer(reply));
        Collected sink;
        const std::string request = post("/", "");
        BOOST_TEST((co_await connection.exchange(request, sink, seconds(5), seconds(5))).has_value());
        BOOST_TEST(connection.is_reusable());
        peer.close();
        co_await eventually([&] { return !connection.is_reusable(); }, "the end is noticed");
        const auto done = co_await connection.exchange(request, sink, seconds(5), seconds(5));
        BOOST_TEST(done.error().code == errc::broken);
    });
}

BOOST_AUTO_TEST_CASE(silence_ends_at_the_deadline_that_the_owner_watches) {
    asio::io_context io(1);
    exa::NullLog log;
    HttpServer server(io, {}, in_coroutine(io, answer), log);
    BOOST_TEST_REQUIRE(server.listen(any_port).has_value());
    const exa::Endpoint endpoint = server.endpoint();
    drive(io, [&]() -> Awaitable<void> {
        ClientConnection connection(io.get_executor());
        BOOST_TEST((co_await connection.connect(endpoint, seconds(2))).has_value());
        asio::post(io, [&] {
            connection.check(ClientConnection::Clock::now());
            connection.check(ClientConnection::Clock::now() + seconds(6));
        });
        Collected sink;
        const std::string request = post("/never", "");
        const auto done = co_await connection.exchange(request, sink, seconds(5), seconds(60));
        BOOST_TEST(done.error().code == errc::timed_out);
        BOOST_TEST(!connection.is_reusable());
    });
}

BOOST_AUTO_TEST_CASE(closing_cancels_what_runs) {
    asio::io_context io(1);
    exa::NullLog log;
    HttpServer server(io, {}, in_coroutine(io, answer), log);
    BOOST_TEST_REQUIRE(server.listen(any_port).has_value());
    const exa::Endpoint endpoint = server.endpoint();
    drive(io, [&]() -> Awaitable<void> {
        ClientConnection connection(io.get_executor());
        BOOST_TEST((co_await connection.connect(endpoint, seconds(2))).has_value());
        asio::post(io, [&] { connection.close(); });
        Collected sink;
        const std::string request = post("/never", "");
        const auto done = co_await connection.exchange(request, sink, seconds(5), seconds(5));
        BOOST_TEST(done.error().code == errc::cancelled);
    });
}

BOOST_AUTO_TEST_CASE(a_port_without_a_listener_refuses) {
    asio::io_context io(1);
    exa::Endpoint endpoint;
    {
        tcp::acceptor acceptor(io, to_asio_tcp(any_port));
        endpoint = from_asio(acceptor.local_endpoint());
    }
    drive(io, [&]() -> Awaitable<void> {
        ClientConnection connection(io.get_executor());
        const auto done = co_await connection.connect(endpoint, seconds(2));
        BOOST_TEST(done.error().code == errc::connect_failed);
        BOOST_TEST(connection.was_refused());
    });
}

BOOST_AUTO_TEST_SUITE_END()
