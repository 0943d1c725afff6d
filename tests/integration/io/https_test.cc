#include <array>
#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include "certificates.h"
#include "http_support.h"
#include "io/errc.h"
#include "io/http/client.h"
#include "io/http/server.h"
#include "io/tls/stream.h"
#include "support.h"
#include "support/print.h"

using namespace exa::io;
using namespace exa::io::http;
using namespace exa::io::tls;
using namespace exa::io::test;
using exa::as_bytes;
using exa::Bytes;
using exa::Endpoint;
using exa::Result;
using exa::test::self_signed;

namespace {

// A client that speaks TLS by hand.
class TlsClient {
  public:
    TlsClient(asio::io_context& io, const std::string& trusted)
        : raw_(io), tls_(TlsSettings::trust(trusted).value(), "h") {}

    Awaitable<void> connect(Endpoint to) {
        co_await raw_.connect(to);
        while (!tls_.established() && !ended_) {
            co_await flush();
            co_await read_some();
        }
        co_await flush();
    }
    Awaitable<void> send(std::string text) {
        const std::array pieces{as_bytes(text)};
        BOOST_TEST_REQUIRE(tls_.write(pieces).has_value());
        co_await flush();
    }
    Awaitable<std::string> read_until(std::string mark) {
        while (plain_.find(mark) == std::string::npos && !ended_) co_await read_some();
        co_return std::exchange(plain_, {});
    }
    bool ended() const { return ended_; }
    // The server has said goodbye, and not just closed.
    bool said_goodbye() const { return tls_.ended(); }
    bool established() const { return tls_.established(); }

  private:
    Awaitable<void> flush() {
        const Bytes out = tls_.take_output();
        if (!out.empty()) co_await raw_.send(std::string(exa::as_text(out)));
    }
    Awaitable<void> read_some() {
        std::array<char, 4096> chunk;
        const auto [code, bytes] = co_await raw_.socket().async_read_some(asio::buffer(chunk), as_result);
        if (code || !tls_.take(as_bytes({chunk.data(), bytes}), plain_) || tls_.ended()) ended_ = true;
    }

    RawClient raw_;
    TlsStream tls_;
    std::string plain_;
    bool ended_ = false;
};

struct Fixture {
    asio::io_context io{1};
    exa::NullLog log;
    HttpConfig config;
    std::optional<HttpServer> server;
    exa::test::PemPair pem = self_signed("h");

    void serve(HttpCoroutine answer) {
        server.emplace(io, config, in_coroutine(io, std::move(answer)), log);
        use(pem);
        BOOST_TEST_REQUIRE(server->listen(any_port).has_value());
    }
    void use(const exa::test::PemPair& pair) {
        server->set_tls(TlsSettings::serve(pair.certificate, pair.key).value());
    }
    void serve_echo() {
        serve([](HttpRequest request, std::shared_ptr<AwaitedExchange> exchange) -> Awaitable<void> {
            HttpResponse response;
            response.body = request.method + " " + request.path + " " + request.body;
            co_await exchange->respond(std::move(response));
        });
    }
    // The blocking client, on a thread of its own.
    Awaitable<Result<HttpReply>> call(HttpCall call, std::function<bool(std::string_view)> sink = {}) {
        call.host = "127.0.0.1";
        call.port = server->endpoint().port;
        call.https = true;
        std::optional<Result<HttpReply>> reply;
        std::atomic<bool> done = false;
        std::jthread thread([&] {
            reply.emplace(sink ? http_stream(call, sink) : http_call(call));
            done = true;
        });
        co_await eventually([&] { return done.load(); }, "the call returns");
        co_return std::move(*reply);
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(https, Fixture)

BOOST_AUTO_TEST_CASE(large_bodies_pass_both_ways) {
    serve_echo();
    drive(io, [&]() -> Awaitable<void> {
        HttpCall post;
        post.method = "POST";
        post.target = "/big";
        post.body = std::string(1'000'000, 'b');
        post.trust = TlsSettings::trust(pem.certificate).value();
        const auto reply = co_await call(post);
        BOOST_TEST_REQUIRE(reply.has_value());
        BOOST_TEST(reply.value().status == 200);
        BOOST_TEST(reply.value().body == "POST /big " + post.body);
        co_await eventually([&] { return server->stats().connections_now == 0; }, "the connection is closed");
        BOOST_TEST(server->stats().disconnected == 0);
    });
}

BOOST_AUTO_TEST_CASE(iteration_of_a_stream_leaves_in_one_write) {
    std::uint64_t writes = 0;
    serve([&](HttpRequest, std::shared_ptr<AwaitedExchange> exchange) -> Awaitable<void> {
        const auto before = server->stats().writes;
        exchange->start(200, {});
        for (int i = 0; i < 20; ++i) static_cast<void>(co_await exchange->write("data: x\n\n"));
        co_await exchange->finish();
        writes = server->stats().writes - before;
    });
    drive(io, [&]() -> Awaitable<void> {
        TlsClient client(io, pem.certificate);
        co_await client.connect(server->endpoint());
        // The first answer's write may go out beside the server's last of the handshake.
        for (int round = 0; round < 2; ++round) {
            co_await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
            const std::string answer = co_await client.read_until("0\r\n\r\n");
            BOOST_TEST(answer.find("data: x\n\ndata: x\n\n") != std::string::npos);
        }
        BOOST_TEST(writes == 1);
    });
}

BOOST_AUTO_TEST_CASE(body_of_a_stream_is_handed_on_as_it_comes) {
    serve([](HttpRequest, std::shared_ptr<AwaitedExchange> exchange) -> Awaitable<void> {
        exchange->start(200, {});
        for (int i = 0; i < 20; ++i) static_cast<void>(co_await exchange->write(std::string(10'000, 'x')));
        co_await exchange->finish();
    });
    drive(io, [&]() -> Awaitable<void> {
        HttpCall get;
        get.trust = TlsSettings::trust(pem.certificate).value();
        std::size_t bytes = 0;
        const auto reply = co_await call(get, [&](std::string_view piece) {
            bytes += piece.size();
            return true;
        });
        BOOST_TEST_REQUIRE(reply.has_value());
        BOOST_TEST(bytes == 200'000U);
    });
}

BOOST_AUTO_TEST_CASE(client_sends_nothing_to_a_server_it_does_not_trust) {
    serve_echo();
    drive(io, [&]() -> Awaitable<void> {
        HttpCall get;
        get.trust = TlsSettings::trust(self_signed("h").certificate).value();
        const auto reply = co_await call(get);
        BOOST_TEST_REQUIRE(!reply.has_value());
        BOOST_TEST(reply.error().code == make_error_code(errc::untrusted));
        BOOST_TEST(server->stats().requests == 0);
        co_await eventually([&] { return server->stats().tls_handshake_failures == 1; },
                            "the handshake counts as failed");
    });
}

BOOST_AUTO_TEST_CASE(new_certificate_is_for_new_connections_and_old_ones_go_on) {
    serve_echo();
    drive(io, [&]() -> Awaitable<void> {
        const auto next = self_signed("h");
        TlsClient old(io, pem.certificate);
        co_await old.connect(server->endpoint());
        use(next);
        TlsClient fresh(io, next.certificate);
        co_await fresh.connect(server->endpoint());
        BOOST_TEST(fresh.established());
        TlsClient stale(io, pem.certificate);
        co_await stale.connect(server->endpoint());
        BOOST_TEST(!stale.established());
        for (TlsClient* client : {&old, &fresh, &old}) {
            co_await client->send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
            BOOST_TEST((co_await client->read_until("GET /a ")).starts_with("HTTP/1.1 200 "));
        }
        BOOST_TEST(server->stats().connections == 3);
    });
}

BOOST_AUTO_TEST_CASE(end_of_the_last_answer_is_said_and_not_just_done) {
    serve_echo();
    drive(io, [&]() -> Awaitable<void> {
        TlsClient client(io, pem.certificate);
        co_await client.connect(server->endpoint());
        co_await client.send(
            "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        const std::string answers = co_await client.read_until("no such mark");
        BOOST_TEST(answers.find("GET /1") < answers.find("GET /2"));
        BOOST_TEST(client.said_goodbye());
    });
}

BOOST_AUTO_TEST_CASE(slow_handshake_is_cut) {
    config.handshake_timeout = milliseconds(40);
    serve_echo();
    drive(io, [&]() -> Awaitable<void> {
        for (const char* begun : {"", "\x16\x03\x01"}) {
            RawClient client(io);
            co_await client.connect(server->endpoint());
            co_await client.send(begun);
            BOOST_TEST(co_await client.read_to_end() == "");
        }
        BOOST_TEST(server->stats().tls_handshake_failures == 2);
        co_await eventually([&] { return server->stats().connections_now == 0; }, "both are closed");
    });
}

BOOST_AUTO_TEST_CASE(plain_request_is_told_what_is_spoken_here) {
    serve_echo();
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        co_await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        const auto answer = co_await client.read_to_end();
        BOOST_TEST(answer.starts_with("HTTP/1.1 400 "));
        BOOST_TEST(answer.find("HTTPS is spoken here") != std::string::npos);
        BOOST_TEST(server->stats().requests == 0);
    });
}

BOOST_AUTO_TEST_CASE(client_that_leaves_is_noticed_while_nothing_is_written) {
    bool told = false;
    serve([&](HttpRequest, std::shared_ptr<AwaitedExchange> exchange) -> Awaitable<void> {
        asio::steady_timer timer(co_await asio::this_coro::executor, seconds(30));
        exchange->on_client_left([&] {
            told = true;
            timer.cancel();
        });
        co_await timer.async_wait(as_result);
    });
    drive(io, [&]() -> Awaitable<void> {
        {
            TlsClient client(io, pem.certificate);
            co_await client.connect(server->endpoint());
            co_await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
            co_await eventually([&] { return server->stats().requests_now == 1; }, "the request runs");
        }
        co_await eventually([&] { return told; }, "the handler is told");
    });
}

BOOST_AUTO_TEST_CASE(noise_within_tls_never_reaches_the_handler) {
    serve_echo();
    drive(io, [&]() -> Awaitable<void> {
        TlsClient client(io, pem.certificate);
        co_await client.connect(server->endpoint());
        co_await client.send(std::string(300, '\x16') + "\r\n\r\n");
        BOOST_TEST((co_await client.read_until("no such mark")).starts_with("HTTP/1.1 400 "));
        BOOST_TEST(server->stats().requests == 0);
    });
}

BOOST_AUTO_TEST_SUITE_END()
