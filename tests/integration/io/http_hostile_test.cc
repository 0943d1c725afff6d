// Clients that ask for much and give little, and those that only look as if they had left.
#include <boost/asio/post.hpp>
#include <optional>
#include <string>
#include <vector>

#include "http_support.h"
#include "io/http/server.h"
#include "support.h"
#include "support/print.h"

using namespace exa::io;
using namespace exa::io::http;
using namespace exa::io::test;

namespace {

struct Fixture {
    asio::io_context io{1};
    exa::NullLog log;
    HttpConfig config;
    std::shared_ptr<BodyBudget> bodies;
    bool judged = false;
    bool reserve = false;
    std::optional<HttpServer> server;

    // Answers with the path and the size of the body, after `pause`.
    void serve(milliseconds pause = milliseconds(0)) {
        server.emplace(
            io, config,
            in_coroutine(io,
                         [pause](HttpRequest request, std::shared_ptr<AwaitedExchange> exchange) -> Awaitable<void> {
                             asio::steady_timer timer(co_await asio::this_coro::executor, pause);
                             if (pause.count() > 0) co_await timer.async_wait(as_result);
                             co_await exchange->respond(
                                 {200, {}, request.path + " " + std::to_string(request.body.size())});
                         }),
            log);
        bodies = std::make_shared<BodyBudget>(config.body_memory_max);
        server->set_body_budget(bodies);
        if (judged)
            server->on_head([](const HttpRequest& request) {
                HeadVerdict verdict;
                if (request.path != "/open") verdict.refusal = http_error(401, "no key", "auth", "no_key");
                return verdict;
            });
        if (reserve) server->set_essential([](const HttpRequest& request) { return request.path == "/health"; });
        BOOST_TEST_REQUIRE(server->listen(any_port).has_value());
    }
};

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

std::string get(std::string_view path) {
    return "GET " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n\r\n";
}

std::string post_head(std::string_view path, std::size_t bytes, std::string_view field = "") {
    return "POST " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n" + std::string(field) +
           "Content-Length: " + std::to_string(bytes) + "\r\n\r\n";
}

void reset(RawClient& client) {
    client.socket().set_option(asio::socket_base::linger(true, 0));
    client.close();
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(http_hostile, Fixture)

BOOST_AUTO_TEST_CASE(client_that_ends_its_side_gets_its_answers) {
    serve();
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        co_await client.send(get("/1") + get("/2"));
        client.shutdown_send();
        const std::string answers = co_await client.read_to_end();
        BOOST_TEST(answers.starts_with("HTTP/1.1 200 "));
        BOOST_TEST(contains(answers, "/1 0"));
        BOOST_TEST(contains(answers, "/2 0"));
        BOOST_TEST(server->stats().disconnected == 0);
    });
}

BOOST_AUTO_TEST_CASE(client_that_ends_its_side_waits_as_long_as_others) {
    serve(milliseconds(150));
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        co_await client.send(get("/1"));
        client.shutdown_send();
        BOOST_TEST(co_await client.read_until("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
        const std::string answer = co_await client.read_to_end();
        BOOST_TEST(answer.starts_with("HTTP/1.1 200 "));
        BOOST_TEST(contains(answer, "connection: close"));
        BOOST_TEST(answer.ends_with("/1 0"));
        BOOST_TEST(server->stats().disconnected == 0);
    });
}

BOOST_AUTO_TEST_CASE(http_1_0_client_that_ends_its_side_gets_nothing_but_its_answer) {
    serve(milliseconds(150));
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        co_await client.send("GET /1 HTTP/1.0\r\n\r\n");
        client.shutdown_send();
        BOOST_TEST((co_await client.read_to_end()).starts_with("HTTP/1.1 200 "));
    });
}

BOOST_AUTO_TEST_CASE(reset_after_the_end_of_its_side_is_noticed) {
    serve(seconds(60));
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        co_await client.send(get("/1"));
        client.shutdown_send();
        co_await client.read_until("100 Continue");
        const auto left = std::chrono::steady_clock::now();
        reset(client);
        co_await eventually([&] { return server->stats().disconnected == 1; }, "the reset");
        BOOST_TEST(std::chrono::steady_clock::now() - left < milliseconds(100));
    });
}

BOOST_AUTO_TEST_CASE(a_request_is_judged_before_its_body_comes) {
    judged = true;
    serve();
    drive(io, [&]() -> Awaitable<void> {
        for (const std::string field : {"", "Expect: 100-continue\r\n"}) {
            RawClient client(io);
            co_await client.connect(server->endpoint());
            co_await client.send(post_head("/other", 16'000'000, field));
            const std::string answer = co_await client.read_until("no_key");
            BOOST_TEST(answer.starts_with("HTTP/1.1 401 "));
            BOOST_TEST(contains(answer, "connection: close"));
        }
        RawClient client(io);
        co_await client.connect(server->endpoint());
        co_await client.send(post_head("/open", 2, "Expect: 100-continue\r\n"));
        BOOST_TEST(co_await client.read_until("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
        co_await client.send("ok");
        BOOST_TEST((co_await client.read_until("/open 2")).starts_with("HTTP/1.1 200 "));
    });
}

BOOST_AUTO_TEST_CASE(unfinished_bodies_have_one_bound_and_an_address_half_of_it) {
    config.body_memory_max = 4'000'000;
    serve();
    drive(io, [&]() -> Awaitable<void> {
        std::vector<std::unique_ptr<RawClient>> clients;
        for (int i = 0; i < 3; ++i) {
            clients.push_back(std::make_unique<RawClient>(io));
            co_await clients.back()->connect(server->endpoint());
            co_await clients.back()->send_what_goes(post_head("/", 1'000'000) + std::string(900'000, 'x'));
            if (i == 2) break;
            co_await eventually([&] { return bodies->bytes_held() == 900'000U * static_cast<unsigned>(i + 1); },
                                "the body");
        }
        const std::string answer = co_await clients.back()->read_to_end();
        BOOST_TEST(answer.starts_with("HTTP/1.1 503 "));
        BOOST_TEST(contains(answer, "retry-after: 1"));
        // Those that are held are not disturbed.
        co_await clients.front()->send(std::string(100'000, 'x'));
        BOOST_TEST((co_await clients.front()->read_until("/ 1000000")).starts_with("HTTP/1.1 200 "));
        clients.clear();
        co_await eventually([&] { return bodies->bytes_held() == 0; }, "what was held is given back");
    });
}

BOOST_AUTO_TEST_CASE(a_byte_now_and_then_holds_no_connection) {
    config.body_timeout = milliseconds(100);
    serve();
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        co_await client.send(post_head("/", 1'000'000) + "x");
        asio::steady_timer timer(io);
        for (int i = 0; i < 100 && server->stats().refused == 0; ++i) {
            co_await client.send_what_goes("x");
            timer.expires_after(milliseconds(20));
            co_await timer.async_wait(as_result);
        }
        BOOST_TEST(server->stats().refused == 1);
        BOOST_TEST((co_await client.read_to_end()).starts_with("HTTP/1.1 408 "));
    });
}

BOOST_AUTO_TEST_CASE(health_is_answered_while_every_connection_is_taken) {
    config.connections_max = 1;
    reserve = true;
    serve();
    drive(io, [&]() -> Awaitable<void> {
        RawClient holder(io);
        co_await holder.connect(server->endpoint());
        co_await holder.send(post_head("/", 1'000'000) + "x");
        co_await eventually([&] { return server->stats().connections_now == 1; }, "the first is accepted");
        RawClient other(io);
        co_await other.connect(server->endpoint());
        co_await other.send(get("/v1"));
        BOOST_TEST((co_await other.read_to_end()).starts_with("HTTP/1.1 503 "));
        RawClient probe(io);
        co_await probe.connect(server->endpoint());
        co_await probe.send(get("/health"));
        const std::string answer = co_await probe.read_to_end();
        BOOST_TEST(answer.starts_with("HTTP/1.1 200 "));
        BOOST_TEST(contains(answer, "connection: close"));
    });
}

BOOST_AUTO_TEST_SUITE_END()
