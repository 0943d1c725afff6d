#include "io/http/server.h"

#include <boost/asio/post.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "http_support.h"
#include "io/errc.h"
#include "support.h"
#include "support/print.h"

using namespace exa::io;
using namespace exa::io::http;
using namespace exa::io::test;
using exa::Result;

namespace {

// Until `progress` is what it was 50 ms ago.
template <class T>
Awaitable<void> standstill(asio::io_context& io, const T& progress) {
    asio::steady_timer timer(io);
    T last;
    do {
        last = progress;
        timer.expires_after(milliseconds(50));
        co_await timer.async_wait(as_result);
    } while (progress != last);
}

// A server on a free port whose handler each test gives.
struct Fixture {
    asio::io_context io{1};
    exa::NullLog log;
    HttpConfig config;
    std::optional<HttpServer> server;

    void serve(HttpCoroutine answer) {
        server.emplace(io, config, in_coroutine(io, std::move(answer)), log);
        BOOST_TEST_REQUIRE(server->listen(any_port).has_value());
    }
    void serve_echo() {
        serve([](HttpRequest request, std::shared_ptr<AwaitedExchange> exchange) -> Awaitable<void> {
            HttpResponse response;
            response.headers.add("content-type", "text/plain");
            response.body = request.method + " " + request.path + " " + request.query + " " + request.body;
            co_await exchange->respond(std::move(response));
        });
    }
    // Sends `bytes` on a fresh connection and gives back everything until the server closes it.
    Awaitable<std::string> whole_answer(std::string bytes) {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        co_await client.send_what_goes(std::move(bytes));
        co_return co_await client.read_to_end();
    }
};

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

std::size_t count(const std::string& text, std::string_view part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(http_server, Fixture)

BOOST_AUTO_TEST_CASE(keep_alive_connection_answers_one_request_after_another) {
    serve_echo();
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        for (int i = 0; i < 3; ++i) {
            co_await client.send("GET /a?x=1 HTTP/1.1\r\nHost: h\r\n\r\n");
            const std::string answer = co_await client.read_until("GET /a x=1 ");
            BOOST_TEST(answer.starts_with("HTTP/1.1 200 OK\r\n"));
            BOOST_TEST(contains(answer, "connection: keep-alive"));
        }
        BOOST_TEST(server->stats().connections == 1);
        BOOST_TEST(server->stats().requests == 3);
    });
}

BOOST_AUTO_TEST_CASE(pipelined_requests_are_answered_in_order) {
    serve_echo();
    drive(io, [&]() -> Awaitable<void> {
        const std::string answers = co_await whole_answer(
            "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nPOST /2 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"
            "GET /3 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        const auto first = answers.find("GET /1");
        const auto second = answers.find("POST /2  abc");
        const auto third = answers.find("GET /3");
        BOOST_TEST(first < second);
        BOOST_TEST(second < third);
        BOOST_TEST(third != std::string::npos);
    });
}

BOOST_AUTO_TEST_CASE(request_in_single_bytes_is_understood) {
    serve_echo();
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        for (const char c : std::string_view("\r\nPOST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                                             "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"))
            co_await client.send(std::string(1, c));
        BOOST_TEST(contains(co_await client.read_until("POST /p  abcde"), "200 OK"));
    });
}

BOOST_AUTO_TEST_CASE(expect_continue_is_answered_before_the_body) {
    serve_echo();
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        co_await client.send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
        BOOST_TEST(co_await client.read_until("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
        co_await client.send("ok");
        BOOST_TEST(contains(co_await client.read_until("POST /  ok"), "200 OK"));
    });
}

BOOST_AUTO_TEST_CASE(head_gets_the_length_and_no_body) {
    serve_echo();
    drive(io, [&]() -> Awaitable<void> {
        const auto answer = co_await whole_answer("HEAD /h HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        BOOST_TEST(contains(answer, "content-length: 9\r\n"));
        BOOST_TEST(answer.ends_with("\r\n\r\n"));
    });
}

BOOST_AUTO_TEST_CASE(too_long_a_header_is_431) {
    serve_echo();
    drive(io, [&]() -> Awaitable<void> {
        const auto answer =
            co_await whole_answer("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(70'000, 'x') + "\r\n\r\n");
        BOOST_TEST(answer.starts_with("HTTP/1.1 431 "));
        BOOST_TEST(contains(answer, R"("type":"invalid_request_error")"));
    });
}

BOOST_AUTO_TEST_CASE(too_large_a_body_is_413_and_the_client_sees_it) {
    config.body_bytes_max = 1000;
    serve_echo();
    drive(io, [&]() -> Awaitable<void> {
        // Far more than the socket buffers hold: the server must go on reading for the client to get to its answer.
        const std::string body(8 * 1024 * 1024, 'x');
        for (const std::string& request :
             {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body,
              "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n800000\r\n" + body + "\r\n0\r\n\r\n"}) {
            RawClient client(io);
            co_await client.connect(server->endpoint());
            co_await client.send(request);
            client.shutdown_send();
            const auto answer = co_await client.read_to_end();
            BOOST_TEST(answer.starts_with("HTTP/1.1 413 "));
            BOOST_TEST(contains(answer, R"("code":"request_too_large")"));
            BOOST_TEST(contains(answer, "connection: close"));
        }
    });
}

BOOST_AUTO_TEST_CASE(limits_that_change_live_hold_for_the_next_request) {
    serve_echo();
    drive(io, [&]() -> Awaitable<void> {
        const std::string request =
            "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 10\r\n\r\n0123456789";
        BOOST_TEST((co_await whole_answer(request)).starts_with("HTTP/1.1 200 "));
        HttpConfig tighter = config;
        tighter.body_bytes_max = 9;
        server->set_limits(tighter);
        BOOST_TEST((co_await whole_answer(request)).starts_with("HTTP/1.1 413 "));
    });
}

BOOST_AUTO_TEST_CASE(ambiguous_or_broken_requests_are_400) {
    serve_echo();
    drive(io, [&]() -> Awaitable<void> {
        for (const std::string request :
             {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
              "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
              "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
              "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
              "GET / HTTP/1.1\nHost: h\n\n", "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n",
              "GET http://other/ HTTP/1.1\r\nHost: h\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
              "GET / HTTP/1.1\r\nHost : h\r\n\r\n",
              "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 not http at all\r\n\r\n"}) {
            const auto answer = co_await whole_answer(request);
            BOOST_TEST(answer.starts_with("HTTP/1.1 400 "), request << " got " << answer.substr(0, 40));
        }
        BOOST_TEST(server->stats().refused == 11);
        BOOST_TEST(server->stats().requests == 0);
    });
}

BOOST_AUTO_TEST_CASE(slow_header_is_408_and_idle_connection_is_closed) {
    config.header_timeout = milliseconds(40);
    config.idle_timeout = milliseconds(40);
    serve_echo();
    drive(io, [&]() -> Awaitable<void> {
        BOOST_TEST((co_await whole_answer("GET / HT")).starts_with("HTTP/1.1 408 "));
        BOOST_TEST(co_await whole_answer("") == "");
    });
}

BOOST_AUTO_TEST_CASE(streamed_answer_is_chunked_and_leaves_in_one_write) {
    std::uint64_t writes = 0;
    serve([&](HttpRequest, std::shared_ptr<AwaitedExchange> exchange) -> Awaitable<void> {
        const auto before = server->stats().writes;
        exchange->start(200, {{"content-type", "text/event-stream"}});
        for (int i = 0; i < 20; ++i) BOOST_TEST((co_await exchange->write("data: x\n\n")).has_value());
        co_await exchange->finish();
        writes = server->stats().writes - before;
    });
    drive(io, [&]() -> Awaitable<void> {
        const auto answer = co_await whole_answer("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        BOOST_TEST(contains(answer, "transfer-encoding: chunked"));
        BOOST_TEST(answer.ends_with("0\r\n\r\n"));
        BOOST_TEST(count(answer, "data: x\n\n") == 20);
        BOOST_TEST(writes == 1);
    });
}

BOOST_AUTO_TEST_CASE(chunks_of_an_idle_stream_leave_at_once) {
    serve([](HttpRequest, std::shared_ptr<AwaitedExchange> exchange) -> Awaitable<void> {
        asio::steady_timer timer(co_await asio::this_coro::executor);
        exchange->start(200, {});
        static_cast<void>(co_await exchange->write("first"));
        timer.expires_after(seconds(30));
        exchange->on_client_left([&] { timer.cancel(); });
        co_await timer.async_wait(as_result);
    });
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        co_await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        BOOST_TEST(contains(co_await client.read_until("5\r\nfirst\r\n"), "200 OK"));
    });
}

BOOST_AUTO_TEST_CASE(http_1_0_client_gets_a_stream_that_ends_with_the_connection) {
    serve([](HttpRequest, std::shared_ptr<AwaitedExchange> exchange) -> Awaitable<void> {
        exchange->start(200, {});
        static_cast<void>(co_await exchange->write("abc"));
        static_cast<void>(co_await exchange->write("def"));
        co_await exchange->finish();
    });
    drive(io, [&]() -> Awaitable<void> {
        const auto answer = co_await whole_answer("GET / HTTP/1.0\r\n\r\n");
        BOOST_TEST(!contains(answer, "chunked"));
        BOOST_TEST(answer.ends_with("\r\n\r\nabcdef"));
    });
}

BOOST_AUTO_TEST_CASE(slow_reader_holds_up_its_writer_and_bounds_the_buffer) {
    std::size_t written = 0;
    bool gone = false;
    serve([&](HttpRequest, std::shared_ptr<AwaitedExchange> exchange) -> Awaitable<void> {
        exchange->start(200, {});
        while (co_await exchange->write(std::string(16 * 1024, 'x'))) written += 16 * 1024;
        gone = true;
    });
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        co_await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        // Until the socket's buffers are full, the writer goes on; then it stands still.
        co_await standstill(io, written);
        BOOST_TEST(written > 0);
        BOOST_TEST(written < 64 * 1024 * 1024);
        client.close();
        co_await eventually([&] { return gone; }, "the writer learns that the client is gone");
    });
}

BOOST_AUTO_TEST_CASE(short_pieces_that_a_socket_takes_in_part_are_not_lost_among_those_of_others) {
    constexpr int pieces = 4'000;
    const auto piece = [](const std::string& path, int i) {
        std::string text = path + " " + std::to_string(i) + " ";
        text.resize(3'000, path.back());
        return text;
    };
    std::map<std::string, int> written;
    serve([&](HttpRequest request, std::shared_ptr<AwaitedExchange> exchange) -> Awaitable<void> {
        exchange->start(200, {}, pieces * 3'000);
        for (int i = 0; i < pieces && co_await exchange->write(piece(request.path, i)); ++i) {
            ++written[request.path];
            // Each leaves by itself.
            co_await asio::post(io, asio::use_awaitable);
            co_await asio::post(io, asio::use_awaitable);
        }
        co_await exchange->finish();
    });
    drive(io, [&]() -> Awaitable<void> {
        std::map<std::string, RawClient> clients;
        for (const std::string path : {"/a", "/b"}) {
            RawClient& client = clients.try_emplace(path, io).first->second;
            co_await client.connect(server->endpoint());
            co_await client.send("GET " + path + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        }
        // Nobody reads until both stand still.
        co_await standstill(io, written);
        BOOST_TEST(written["/a"] < pieces);
        for (auto& [path, client] : clients) {
            const std::string answer = co_await client.read_to_end();
            std::string expected;
            for (int i = 0; i < pieces; ++i) expected += piece(path, i);
            BOOST_TEST(answer.ends_with(expected));
        }
    });
}

BOOST_AUTO_TEST_CASE(client_that_takes_nothing_is_dropped_after_the_write_timeout) {
    config.write_timeout = milliseconds(50);
    bool told = false;
    serve([&](HttpRequest, std::shared_ptr<AwaitedExchange> exchange) -> Awaitable<void> {
        exchange->on_client_left([&] { told = true; });
        exchange->start(200, {});
        while (co_await exchange->write(std::string(64 * 1024, 'x'))) continue;
    });
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        co_await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        co_await eventually([&] { return told; }, "the handler is told");
        co_await eventually([&] { return server->stats().connections_now == 0; }, "the connection is closed");
    });
}

BOOST_AUTO_TEST_CASE(disconnect_is_noticed_while_nothing_is_written) {
    std::optional<std::chrono::steady_clock::time_point> told;
    serve([&](HttpRequest, std::shared_ptr<AwaitedExchange> exchange) -> Awaitable<void> {
        asio::steady_timer timer(co_await asio::this_coro::executor, seconds(30));
        exchange->on_client_left([&] {
            told = std::chrono::steady_clock::now();
            timer.cancel();
        });
        co_await timer.async_wait(as_result);
        BOOST_TEST(exchange->client_left());
        // Taking a handler back late is no call of nothing.
        exchange->on_client_left(nullptr);
    });
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        co_await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        co_await eventually([&] { return server->stats().requests_now == 1; }, "the request runs");
        const auto left = std::chrono::steady_clock::now();
        client.close();
        co_await eventually([&] { return told.has_value(); }, "the handler is told");
        BOOST_TEST(*told - left < milliseconds(100));
        BOOST_TEST(server->stats().disconnected == 1);
    });
}

BOOST_AUTO_TEST_CASE(dropped_exchange_is_500_and_throwing_handler_too) {
    serve([](HttpRequest request, std::shared_ptr<AwaitedExchange>) -> Awaitable<void> {
        if (request.path == "/throw") throw std::runtime_error("on purpose");
        co_return;
    });
    drive(io, [&]() -> Awaitable<void> {
        for (const char* path : {"/drop", "/throw"}) {
            const auto answer =
                co_await whole_answer(std::string("GET ") + path + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
            BOOST_TEST(answer.starts_with("HTTP/1.1 500 "), path);
        }
    });
}

BOOST_AUTO_TEST_CASE(stream_dropped_in_the_middle_is_cut_not_ended) {
    serve([](HttpRequest, std::shared_ptr<AwaitedExchange> exchange) -> Awaitable<void> {
        exchange->start(200, {});
        static_cast<void>(co_await exchange->write("part"));
    });
    drive(io, [&]() -> Awaitable<void> {
        const auto answer = co_await whole_answer("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        BOOST_TEST(!contains(answer, "0\r\n\r\n"));
    });
}

BOOST_AUTO_TEST_CASE(header_values_cannot_break_out) {
    serve([](HttpRequest, std::shared_ptr<AwaitedExchange> exchange) -> Awaitable<void> {
        HttpResponse response;
        response.headers.add("x-bad", "a\r\nset-cookie: evil");
        response.headers.add("Content-Length", "99");
        response.headers.add("x-good", "yes");
        co_await exchange->respond(std::move(response));
    });
    drive(io, [&]() -> Awaitable<void> {
        const auto answer =
            co_await whole_answer("GET / HTTP/1.1\r\nHost: h\r\nX-Request-Id: r\r\nConnection: close\r\n\r\n");
        BOOST_TEST(!contains(answer, "evil"));
        BOOST_TEST(!contains(answer, "99"));
        BOOST_TEST(contains(answer, "x-good: yes\r\n"));
        BOOST_TEST(contains(answer, "content-length: 0\r\n"));
    });
}

// Whatever happens to a request, both sides can name it.
BOOST_AUTO_TEST_CASE(every_answer_carries_the_requests_id) {
    serve([](HttpRequest request, std::shared_ptr<AwaitedExchange> exchange) -> Awaitable<void> {
        HttpResponse response;
        response.headers.add("x-request-id", "the handler's");
        response.body = "id=" + request.id;
        co_await exchange->respond(std::move(response));
    });
    drive(io, [&]() -> Awaitable<void> {
        const auto id_of = [](const std::string& answer) {
            const auto at = answer.find("\r\nx-request-id: ");
            BOOST_TEST_REQUIRE(at != std::string::npos, answer);
            return answer.substr(at + 16, answer.find("\r\n", at + 2) - at - 16);
        };
        const std::string close = "Host: h\r\nConnection: close\r\n";
        const std::string given = co_await whole_answer("GET / HTTP/1.1\r\nX-Request-Id: mine-1\r\n" + close + "\r\n");
        BOOST_TEST(id_of(given) == "mine-1");
        BOOST_TEST(contains(given, "id=mine-1"));
        BOOST_TEST(count(given, "x-request-id") == 1U);
        const std::string made = co_await whole_answer("GET / HTTP/1.1\r\n" + close + "\r\n");
        BOOST_TEST(id_of(made).size() == 36U);
        BOOST_TEST(contains(made, "id=" + id_of(made)));
        const std::string other = co_await whole_answer("GET / HTTP/1.1\r\n" + close + "\r\n");
        BOOST_TEST(id_of(other) != id_of(made));
        for (const std::string& unfit : {std::string("two words"), std::string(129, 'x')})
            BOOST_TEST(
                id_of(co_await whole_answer("GET / HTTP/1.1\r\nx-request-id: " + unfit + "\r\n" + close + "\r\n"))
                    .starts_with("req-"));
        BOOST_TEST(id_of(co_await whole_answer("GET / HTTP/1.1\r\n\r\n")).starts_with("req-"));
        BOOST_TEST(id_of(co_await whole_answer("POST / HTTP/1.1\r\nX-Request-Id: big\r\nHost: h\r\nContent-Length: "
                                               "99999999\r\n\r\n")) == "big");
        BOOST_TEST(id_of(co_await whole_answer("nonsense\r\n\r\n")).starts_with("req-"));
    });
}

BOOST_AUTO_TEST_CASE(outcome_says_what_the_client_got) {
    std::vector<std::string> outcomes;
    server.emplace(io, config,
                   in_coroutine(io,
                                [](HttpRequest request, std::shared_ptr<AwaitedExchange> exchange) -> Awaitable<void> {
                                    exchange->annotate("who", "first");
                                    exchange->annotate("who", "last");
                                    exchange->add_field("x-more", "yes");
                                    exchange->add_field("x-bad", "a\r\nb: c");
                                    if (request.path == "/stream") {
                                        exchange->start(200, {});
                                        static_cast<void>(co_await exchange->write("abc"));
                                        if (request.query == "finish") co_await exchange->finish();
                                        co_return;
                                    }
                                    HttpResponse response{404, {}, "not found"};
                                    co_await exchange->respond(std::move(response));
                                }),
                   log);
    server->on_outcome([&](const HttpOutcome& outcome) {
        std::string text = std::string(outcome.id) + " " + std::string(outcome.method) + " " +
                           std::string(outcome.path) + " " + std::to_string(outcome.status) + " " +
                           std::to_string(outcome.body_bytes) + (outcome.complete ? " complete" : " cut");
        for (const auto& [key, value] : outcome.annotations) text += " " + std::string(key) + "=" + value;
        BOOST_TEST(outcome.first_byte.has_value() == (outcome.body_bytes > 0));
        BOOST_TEST(outcome.took >= outcome.first_byte.value_or(exa::Duration{0}));
        outcomes.push_back(std::move(text));
    });
    BOOST_TEST_REQUIRE(server->listen(any_port).has_value());
    drive(io, [&]() -> Awaitable<void> {
        const std::string rest = " HTTP/1.1\r\nHost: h\r\nX-Request-Id: r\r\nConnection: close\r\n\r\n";
        const auto answer = co_await whole_answer("GET /a?secret=1" + rest);
        BOOST_TEST(contains(answer, "x-more: yes\r\n"));
        BOOST_TEST(!contains(answer, "x-bad"));
        co_await whole_answer("HEAD /a" + rest);
        co_await whole_answer("GET /stream?finish" + rest);
        co_await whole_answer("GET /stream" + rest);
        co_await whole_answer("GET /a HTTP/1.1\r\nX-Request-Id: bad\r\n\r\n");
        co_await eventually([&] { return outcomes.size() == 5; }, "all are told");
        BOOST_TEST(outcomes[0] == "r GET /a 404 9 complete who=last");
        BOOST_TEST(outcomes[1] == "r HEAD /a 404 0 complete who=last");
        BOOST_TEST(outcomes[2] == "r GET /stream 200 3 complete who=last");
        BOOST_TEST(outcomes[3] == "r GET /stream 200 3 cut who=last");
        BOOST_TEST(outcomes[4].starts_with("bad   400 "));
    });
}

BOOST_AUTO_TEST_CASE(connections_beyond_the_limit_wait_their_turn) {
    config.connections_max = 1;
    serve_echo();
    drive(io, [&]() -> Awaitable<void> {
        RawClient first(io);
        RawClient second(io);
        co_await first.connect(server->endpoint());
        co_await eventually([&] { return server->stats().connections_now == 1; }, "the first is accepted");
        co_await second.connect(server->endpoint());
        co_await second.send("GET /second HTTP/1.1\r\nHost: h\r\n\r\n");
        BOOST_TEST(server->stats().connections_now == 1);
        first.close();
        BOOST_TEST(contains(co_await second.read_until("GET /second"), "200"));
    });
}

BOOST_AUTO_TEST_CASE(taken_port_is_named) {
    serve_echo();
    HttpServer other(io, config, {}, log);
    const auto taken = other.listen(server->endpoint());
    BOOST_TEST_REQUIRE(!taken.has_value());
    BOOST_TEST(taken.error().code == make_error_code(errc::port_taken));
    BOOST_TEST(contains(taken.error().message(), to_string(server->endpoint())));
}

BOOST_AUTO_TEST_CASE(random_bytes_never_reach_the_handler_unless_they_are_http) {
    serve_echo();
    drive(io, [&]() -> Awaitable<void> {
        std::uint64_t state = 7;
        for (int round = 0; round < 50; ++round) {
            std::string noise;
            for (int i = 0; i < 200; ++i) {
                state = state * 6364136223846793005U + 1442695040888963407U;
                noise.push_back(static_cast<char>(state >> 56));
            }
            RawClient client(io);
            co_await client.connect(server->endpoint());
            co_await client.send(noise);
            client.shutdown_send();
            co_await client.read_to_end();
        }
        BOOST_TEST(server->stats().requests == 0);
        co_await eventually([&] { return server->stats().connections_now == 0; }, "all are closed");
    });
}

BOOST_AUTO_TEST_SUITE_END()
