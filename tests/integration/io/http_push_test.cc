// The calls of an exchange and its listener.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/http/server.h"
#include "support.h"

using namespace exa::io;
using namespace exa::io::http;
using namespace exa::io::test;

namespace {

struct Heard final : AnswerListener {
    void client_left() override { ++left; }
    void drained() override {
        ++drained_times;
        if (on_drained) on_drained();
    }
    int left = 0;
    int drained_times = 0;
    std::function<void()> on_drained;
};

struct Fixture {
    asio::io_context io{1};
    exa::NullLog log;
    HttpConfig config;
    std::optional<HttpServer> server;
    std::shared_ptr<Heard> heard = std::make_shared<Heard>();

    void serve(HttpServer::Handler handler) {
        server.emplace(io, config, std::move(handler), log);
        BOOST_TEST_REQUIRE(server->listen(any_port).has_value());
    }
};

constexpr const char* request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

}  // namespace

BOOST_FIXTURE_TEST_SUITE(http_push, Fixture)

BOOST_AUTO_TEST_CASE(answer_pushed_within_the_handler_is_complete_when_that_returns) {
    serve([&](HttpRequest, std::shared_ptr<HttpExchange> exchange) {
        exchange->push_answer({200, {{"content-type", "text/plain"}}, "all of it"});
        BOOST_TEST(server->stats().requests_now == 0U);
        BOOST_TEST(server->stats().writes == server->stats().requests);
    });
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        for (int i = 0; i < 2; ++i) {
            co_await client.send(request);
            BOOST_TEST((co_await client.read_until("all of it")).starts_with("HTTP/1.1 200 OK\r\n"));
        }
    });
}

BOOST_AUTO_TEST_CASE(thousands_of_requests_sent_at_once_are_answered_in_a_flat_stack) {
    config.pipeline_bytes_max = 1024 * 1024;
    int answered = 0;
    serve([&](HttpRequest, std::shared_ptr<HttpExchange> exchange) {
        exchange->push_answer({200, {}, std::to_string(answered++) + ";"});
    });
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        std::string all;
        for (int i = 0; i < 5'000; ++i) all += request;
        co_await client.send(std::move(all));
        co_await client.read_until("\r\n\r\n4999;");
        BOOST_TEST(answered == 5'000);
    });
}

BOOST_AUTO_TEST_CASE(what_is_pushed_in_one_iteration_leaves_in_one_write) {
    serve([&](HttpRequest, std::shared_ptr<HttpExchange> exchange) {
        exchange->push_head(200, {});
        for (const char* event : {"a", "b", "c"}) exchange->push_body(event);
        exchange->push_end();
    });
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        co_await client.send(request);
        BOOST_TEST((co_await client.read_until("0\r\n\r\n")).ends_with("\r\n\r\n3\r\nabc\r\n0\r\n\r\n"));
        BOOST_TEST(server->stats().writes == 1U);
    });
}

BOOST_AUTO_TEST_CASE(listener_hears_once_that_its_client_left_and_is_let_go) {
    std::shared_ptr<HttpExchange> kept;
    serve([&](HttpRequest, std::shared_ptr<HttpExchange> exchange) {
        exchange->listen(heard);
        kept = std::move(exchange);
    });
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        co_await client.send(request);
        co_await eventually([&] { return kept != nullptr; }, "the request");
        client.close();
        co_await eventually([&] { return heard->left > 0; }, "the end");
        kept.reset();
        co_await eventually([&] { return server->stats().connections_now == 0; }, "the connection's end");
        BOOST_TEST(heard->left == 1);
        BOOST_TEST(heard.use_count() == 1);
    });
}

BOOST_AUTO_TEST_CASE(client_who_leaves_before_an_answer_was_failed_by_nobody) {
    std::vector<std::string> outcomes;
    std::shared_ptr<HttpExchange> kept;
    serve([&](HttpRequest, std::shared_ptr<HttpExchange> exchange) {
        exchange->listen(heard);
        kept = std::move(exchange);
    });
    server->on_outcome([&](const HttpOutcome& outcome) {
        outcomes.push_back(std::to_string(outcome.status) + " " + std::to_string(outcome.body_bytes) +
                           (outcome.complete ? " complete" : " cut"));
    });
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        co_await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        co_await eventually([&] { return kept != nullptr; }, "the request");
        client.close();
        co_await eventually([&] { return heard->left > 0; }, "the end");
        kept.reset();
        co_await eventually([&] { return outcomes.size() == 1; }, "the outcome");
        BOOST_TEST(outcomes[0] == "499 0 cut");
    });
}

BOOST_AUTO_TEST_CASE(exchange_is_full_until_a_slow_client_has_taken_enough) {
    constexpr std::size_t piece = 512 * 1024;
    constexpr int pieces = 64;
    int pushed = 0;
    serve([&](HttpRequest, std::shared_ptr<HttpExchange> exchange) {
        exchange->push_head(200, {}, piece * pieces);
        heard->on_drained = [&, exchange] {
            while (pushed < pieces && !exchange->is_full()) {
                exchange->push_body(std::string(piece, 'x'));
                ++pushed;
            }
            if (pushed == pieces) exchange->push_end();
        };
        exchange->listen(heard);
        heard->on_drained();
    });
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        co_await client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        co_await eventually([&] { return pushed > 0; }, "the first piece");
        BOOST_TEST(pushed < pieces);
        const std::string answer = co_await client.read_to_end();
        BOOST_TEST(answer.size() > piece * pieces);
        BOOST_TEST(heard->drained_times > 0);
        heard->on_drained = nullptr;
    });
}

BOOST_AUTO_TEST_SUITE_END()
