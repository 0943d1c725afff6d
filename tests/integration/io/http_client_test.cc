// The blocking client against the server, and against servers that misbehave.
#include "io/http/client.h"

#include <atomic>
#include <optional>
#include <thread>

#include "http_support.h"
#include "io/errc.h"
#include "io/http/server.h"
#include "support.h"
#include "support/print.h"

using namespace exa::io;
using namespace exa::io::http;
using namespace exa::io::test;

namespace {

// The client blocks, so what it talks to runs on a thread of its own.
class Background {
  public:
    explicit Background(asio::io_context& io) : guard_(io.get_executor()), io_(io), thread_([&io] { io.run(); }) {}
    ~Background() {
        io_.stop();
        thread_.join();
    }

  private:
    asio::executor_work_guard<asio::io_context::executor_type> guard_;
    asio::io_context& io_;
    std::thread thread_;
};

HttpCall call_to(const exa::Endpoint& endpoint, std::string target = "/") {
    HttpCall call;
    call.port = endpoint.port;
    call.target = std::move(target);
    call.connect_timeout = seconds(2);
    call.idle_timeout = seconds(5);
    return call;
}

Awaitable<void> answer(HttpRequest request, std::shared_ptr<AwaitedExchange> exchange) {
    if (request.path == "/echo") {
        HttpResponse response;
        response.status = 201;
        response.headers.add("x-method", request.method);
        response.headers.add("x-length", std::string(request.headers.find("content-length").value_or("none")));
        response.body = request.body + request.query;
        co_await exchange->respond(std::move(response));
    } else if (request.path == "/stream") {
        exchange->start(200, {{"content-type", "text/event-stream"}});
        for (int i = 0; i < 5; ++i) {
            static_cast<void>(co_await exchange->write("data: " + std::to_string(i) + "\n\n"));
            asio::steady_timer pause(co_await asio::this_coro::executor, milliseconds(1));
            co_await pause.async_wait(as_result);
        }
        co_await exchange->finish();
    } else if (request.path == "/never") {
        asio::steady_timer pause(co_await asio::this_coro::executor, seconds(30));
        exchange->on_client_left([&] { pause.cancel(); });
        co_await pause.async_wait(as_result);
    } else {
        co_await exchange->respond(http_error(404, "No.", "invalid_request_error", "not_found"));
    }
}

struct Fixture {
    asio::io_context io{1};
    exa::NullLog log;
    HttpServer server{io, {}, in_coroutine(io, answer), log};
    std::optional<Background> background;

    Fixture() {
        BOOST_TEST_REQUIRE(server.listen(any_port).has_value());
        background.emplace(io);
    }
    ~Fixture() { background.reset(); }
};

// Accepts one connection, sends `bytes` and closes it.
exa::Result<HttpReply> reply_of(const std::string& bytes, const std::function<bool(std::string_view)>& sink = {}) {
    asio::io_context io{1};
    tcp::acceptor acceptor(io, to_asio_tcp(any_port));
    const exa::Endpoint at = from_asio(acceptor.local_endpoint());
    asio::co_spawn(
        io,
        [&]() -> Awaitable<void> {
            auto [code, socket] = co_await acceptor.async_accept(as_result);
            co_await asio::async_write(socket, asio::buffer(bytes), as_result);
            socket.shutdown(tcp::socket::shutdown_send, code);
            char ignored = 0;
            while (!code)
                std::tie(code, std::ignore) = co_await socket.async_read_some(asio::buffer(&ignored, 1), as_result);
        },
        asio::detached);
    const Background background(io);
    return sink ? http_stream(call_to(at), sink) : http_call(call_to(at));
}

template <class T>
bool is(const exa::Result<T>& result, errc code) {
    return !result.has_value() && result.error().code == make_error_code(code);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(http_client, Fixture)

BOOST_AUTO_TEST_CASE(call_carries_method_body_and_headers_both_ways) {
    HttpCall call = call_to(server.endpoint(), "/echo?q");
    call.method = "POST";
    call.body = std::string(300'000, 'b');
    const auto reply = http_call(call);
    BOOST_TEST_REQUIRE(reply.has_value());
    BOOST_TEST(reply.value().status == 201);
    BOOST_TEST(reply.value().headers.find("X-Method") == "POST");
    BOOST_TEST(reply.value().headers.find("x-length") == "300000");
    BOOST_TEST(reply.value().body == call.body + "q");
    call.method = "HEAD";
    call.body.clear();
    BOOST_TEST(http_call(call).value().body == "");
}

BOOST_AUTO_TEST_CASE(any_status_is_a_reply) {
    const auto reply = http_call(call_to(server.endpoint(), "/other"));
    BOOST_TEST(reply.value().status == 404);
    BOOST_TEST(reply.value().body.find("not_found") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(stream_is_handed_over_piece_by_piece) {
    std::string text;
    int pieces = 0;
    const auto reply = http_stream(call_to(server.endpoint(), "/stream"), [&](std::string_view piece) {
        text += piece;
        ++pieces;
        return true;
    });
    BOOST_TEST_REQUIRE(reply.has_value());
    BOOST_TEST(text == "data: 0\n\ndata: 1\n\ndata: 2\n\ndata: 3\n\ndata: 4\n\n");
    BOOST_TEST(pieces > 1);
    BOOST_TEST(reply.value().body == "");
}

BOOST_AUTO_TEST_CASE(sink_may_stop_early_and_errors_come_as_a_body) {
    int pieces = 0;
    const auto stopped = http_stream(call_to(server.endpoint(), "/stream"), [&](std::string_view) {
        ++pieces;
        return false;
    });
    BOOST_TEST(stopped.has_value());
    BOOST_TEST(pieces == 1);
    const auto refused = http_stream(call_to(server.endpoint(), "/other"), [&](std::string_view) {
        ++pieces;
        return true;
    });
    BOOST_TEST(refused.value().status == 404);
    BOOST_TEST(refused.value().body.find("not_found") != std::string::npos);
    BOOST_TEST(pieces == 1);
}

BOOST_AUTO_TEST_CASE(failures_are_told_apart) {
    HttpCall slow = call_to(server.endpoint(), "/never");
    slow.idle_timeout = milliseconds(50);
    BOOST_TEST(is(http_call(slow), errc::timed_out));
    asio::io_context other;
    tcp::acceptor brief(other, to_asio_tcp(any_port));
    const exa::Endpoint nobody = from_asio(brief.local_endpoint());
    brief.close();
    BOOST_TEST(is(http_call(call_to(nobody)), errc::connect_failed));
    HttpCall unknown = call_to(server.endpoint());
    unknown.host = "nothing.invalid";
    BOOST_TEST(is(http_call(unknown), errc::name_not_resolved));
    HttpCall named = call_to(server.endpoint(), "/echo");
    named.host = "localhost";
    BOOST_TEST(http_call(named).has_value());
}

BOOST_AUTO_TEST_CASE(broken_answers_are_told_from_whole_ones) {
    BOOST_TEST(is(reply_of("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"), errc::broken));
    BOOST_TEST(is(reply_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"), errc::broken));
    BOOST_TEST(is(reply_of("HTTP/1.1 200 OK\r\nConte"), errc::broken));
    BOOST_TEST(is(reply_of(""), errc::broken));
    BOOST_TEST(is(reply_of("no http at all\r\n\r\n"), errc::malformed));
    BOOST_TEST(is(reply_of("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"), errc::too_large));
    BOOST_TEST(reply_of("HTTP/1.1 200 OK\r\n\r\nto the end").value().body == "to the end");
    BOOST_TEST(reply_of("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n").value().status == 204);
    std::string text;
    const auto cut =
        reply_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", [&](std::string_view piece) {
            text += piece;
            return true;
        });
    BOOST_TEST(is(cut, errc::broken));
    BOOST_TEST(text == "half");
}

BOOST_AUTO_TEST_CASE(url_is_taken_apart) {
    auto parts = [](std::string_view url) {
        const auto call = parse_http_url(url);
        return call ? call.value().host + " " + std::to_string(call.value().port) + " " + call.value().target
                    : std::string("refused");
    };
    BOOST_TEST(parts("http://h:81/a/b?c") == "h 81 /a/b?c");
    BOOST_TEST(parts("h") == "h 80 /");
    BOOST_TEST(parts("[::1]:82") == "::1 82 /");
    BOOST_TEST(parts("http://[::1]/x") == "::1 80 /x");
    for (const char* url :
         {"", "http://", "h:0", "h:x", "h:70000", "https://", "https://h:x", "ftp://h", "foo bar", "a@h"})
        BOOST_TEST(parts(url) == "refused");
}

BOOST_AUTO_TEST_SUITE_END()
