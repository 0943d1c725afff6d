#include <optional>

#include "http_support.h"
#include "io/http/server.h"
#include "support.h"

using namespace exa::io;
using namespace exa::io::http;
using namespace exa::io::test;

namespace {

struct Fixture {
    asio::io_context io{1};
    exa::NullLog log;
    HttpConfig config;
    std::optional<HttpServer> server;

    Fixture() { config.drain_linger = milliseconds(100); }

    void serve(HttpCoroutine answer) {
        server.emplace(io, config, in_coroutine(io, std::move(answer)), log);
        BOOST_TEST_REQUIRE(server->listen(any_port).has_value());
    }
    void serve_ok() {
        serve([](HttpRequest, std::shared_ptr<AwaitedExchange> exchange) -> Awaitable<void> {
            co_await exchange->respond({200, {}, "ok"});
        });
    }
    // Drains beside the test's own coroutine.
    std::shared_ptr<std::optional<bool>> drain(exa::Duration deadline) {
        auto result = std::make_shared<std::optional<bool>>();
        asio::co_spawn(
            io, [this, deadline, result]() -> Awaitable<void> { *result = co_await server->drain(deadline); },
            asio::detached);
        return result;
    }
};

constexpr const char* request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

}  // namespace

BOOST_FIXTURE_TEST_SUITE(http_drain, Fixture)

BOOST_AUTO_TEST_CASE(idle_client_is_answered_once_more_and_told_to_leave) {
    serve_ok();
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        co_await client.send(request);
        BOOST_TEST((co_await client.read_until("ok")).find("connection: keep-alive") != std::string::npos);
        const auto drained = drain(seconds(5));
        co_await eventually([&] { return server->stats().connections_now == 1; }, "the drain runs");
        co_await client.send(request);
        BOOST_TEST((co_await client.read_to_end()).find("connection: close") != std::string::npos);
        client.close();
        co_await eventually([&] { return drained->has_value(); }, "the drain ends");
        BOOST_TEST(**drained);
    });
}

BOOST_AUTO_TEST_CASE(stream_in_progress_is_finished_before_the_drain_returns) {
    bool go_on = false;
    serve([&](HttpRequest, std::shared_ptr<AwaitedExchange> exchange) -> Awaitable<void> {
        exchange->start(200, {});
        static_cast<void>(co_await exchange->write("first"));
        co_await eventually([&] { return go_on; }, "the test goes on");
        static_cast<void>(co_await exchange->write("last"));
        co_await exchange->finish();
    });
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        co_await client.send(request);
        co_await client.read_until("first");
        const auto drained = drain(seconds(5));
        // Longer than an idle client may linger: a busy one is not closed for that.
        asio::steady_timer timer(io, milliseconds(200));
        co_await timer.async_wait(as_result);
        BOOST_TEST(!drained->has_value());
        go_on = true;
        BOOST_TEST((co_await client.read_until("0\r\n\r\n")).find("last") != std::string::npos);
        co_await eventually([&] { return drained->has_value(); }, "the drain ends");
        BOOST_TEST(**drained);
    });
}

BOOST_AUTO_TEST_CASE(no_request_of_busy_keep_alive_clients_is_lost) {
    serve_ok();
    drive(io, [&]() -> Awaitable<void> {
        int running = 0;
        int answered = 0;
        int lost = 0;
        bool draining = false;
        for (int i = 0; i < 20; ++i) {
            ++running;
            asio::co_spawn(
                io,
                [&]() -> Awaitable<void> {
                    RawClient client(io);
                    co_await client.connect(server->endpoint());
                    while (true) {
                        co_await client.send(request);
                        const std::string answer = co_await client.read_until("\r\n\r\nok");
                        if (!answer.ends_with("ok")) {
                            ++lost;
                            break;
                        }
                        ++answered;
                        if (answer.find("connection: close") != std::string::npos) break;
                    }
                    --running;
                },
                asio::detached);
        }
        co_await eventually([&] { return answered > 200; }, "clients are busy");
        const auto drained = drain(seconds(5));
        draining = true;
        co_await eventually([&] { return running == 0; }, "every client was told to leave");
        co_await eventually([&] { return drained->has_value(); }, "the drain ends");
        BOOST_TEST(draining);
        BOOST_TEST(lost == 0);
        BOOST_TEST(**drained);
    });
}

BOOST_AUTO_TEST_CASE(clients_in_the_listen_queue_are_still_answered) {
    config.connections_max = 1;
    serve_ok();
    drive(io, [&]() -> Awaitable<void> {
        RawClient first(io);
        RawClient queued(io);
        co_await first.connect(server->endpoint());
        co_await first.send(request);
        co_await first.read_until("ok");
        co_await queued.connect(server->endpoint());
        co_await queued.send(request);
        const auto drained = drain(seconds(5));
        BOOST_TEST((co_await queued.read_to_end()).ends_with("ok"));
        queued.close();
        first.close();
        co_await eventually([&] { return drained->has_value(); }, "the drain ends");
    });
}

BOOST_AUTO_TEST_CASE(past_its_deadline_a_drain_cuts_what_is_left) {
    bool told = false;
    serve([&](HttpRequest, std::shared_ptr<AwaitedExchange> exchange) -> Awaitable<void> {
        exchange->on_client_left([&] { told = true; });
        exchange->start(200, {});
        co_await eventually([&] { return told; }, "the handler is told");
    });
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        co_await client.send(request);
        co_await client.read_until("\r\n\r\n");
        const auto drained = drain(milliseconds(100));
        co_await client.read_to_end();
        co_await eventually([&] { return drained->has_value(); }, "the drain ends");
        BOOST_TEST(!**drained);
        BOOST_TEST(told);
    });
}

BOOST_AUTO_TEST_SUITE_END()
