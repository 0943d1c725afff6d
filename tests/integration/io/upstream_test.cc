// A pool of connections against servers that close when it suits them.
#include "io/http/upstream.h"

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "io/errc.h"
#include "support.h"
#include "support/print.h"

using namespace exa::io;
using namespace exa::io::http;
using namespace exa::io::test;

namespace {

struct Heard final : UpstreamSink {
    void on_head(const ResponseHead& head) override { status = head.status; }
    bool on_body(std::string_view piece) override {
        body += piece;
        return true;
    }
    void on_end(exa::Result<void> how) override { end = std::move(how); }

    bool succeeded() const { return end && end->has_value(); }
    bool failed_with(errc code) const { return end && end->has_error() && end->error().code == code; }

    int status = 0;
    std::string body;
    std::optional<exa::Result<void>> end;
};

// Runs one script a connection, in the order they are accepted.
class Scripted {
  public:
    using Script = std::function<Awaitable<void>(tcp::socket&)>;

    Scripted(asio::io_context& io, std::deque<Script> scripts)
        : acceptor_(io, to_asio_tcp(any_port)), scripts_(std::move(scripts)) {
        accept();
    }
    std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
    int accepted() const { return accepted_; }
    const std::vector<std::string>& requests() const { return requests_; }

    // Reads one request and answers with `bytes`.
    Awaitable<void> answer(tcp::socket& socket, std::string bytes) {
        co_await read(socket);
        co_await asio::async_write(socket, asio::buffer(bytes), as_result);
    }
    Awaitable<void> read(tcp::socket& socket) {
        std::string text;
        std::array<char, 4096> chunk;
        while (text.find("\r\n\r\n") == std::string::npos) {
            const auto [code, bytes] = co_await socket.async_read_some(asio::buffer(chunk), as_result);
            if (code) co_return;
            text.append(chunk.data(), bytes);
        }
        requests_.push_back(text);
    }

  private:
    void accept() {
        acceptor_.async_accept([this](boost::system::error_code code, tcp::socket socket) {
            if (code) return;
            const auto number = static_cast<std::size_t>(accepted_++);
            sockets_.push_back(std::make_unique<tcp::socket>(std::move(socket)));
            if (number < scripts_.size()) asio::co_spawn(acceptor_.get_executor(), run(number), asio::detached);
            accept();
        });
    }
    Awaitable<void> run(std::size_t number) { co_await scripts_[number](*sockets_[number]); }

    tcp::acceptor acceptor_;
    std::deque<Script> scripts_;
    std::vector<std::unique_ptr<tcp::socket>> sockets_;
    std::vector<std::string> requests_;
    int accepted_ = 0;
};

const std::string request = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n";

std::string ok(std::string_view body, std::string_view fields = "") {
    return "HTTP/1.1 200 OK\r\n" + std::string(fields) + "content-length: " + std::to_string(body.size()) + "\r\n\r\n" +
           std::string(body);
}

struct Fixture {
    std::shared_ptr<UpstreamPool> pool(std::uint16_t port, exa::Duration idle = seconds(4)) {
        return std::make_shared<UpstreamPool>(io.get_executor(),
                                              UpstreamConfig{.host = "127.0.0.1", .port = port, .idle_timeout = idle});
    }
    // One whole call.
    static Awaitable<void> call(std::shared_ptr<UpstreamPool> pool, Heard& heard) {
        UpstreamCall one(std::move(pool), heard);
        one.send(request, "");
        co_await eventually([&] { return heard.end.has_value(); }, "an end");
    }

    asio::io_context io{1};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(upstream, Fixture)

BOOST_AUTO_TEST_CASE(requests_one_after_another_share_a_connection) {
    Scripted* server = nullptr;
    Scripted scripted(io, {[&](tcp::socket& socket) -> Awaitable<void> {
                          for (const char* body : {"one", "two", "three"}) co_await server->answer(socket, ok(body));
                      }});
    server = &scripted;
    const auto upstreams = pool(scripted.port());
    drive(io, [&]() -> Awaitable<void> {
        for (const char* body : {"one", "two", "three"}) {
            Heard heard;
            co_await call(upstreams, heard);
            BOOST_TEST(heard.succeeded());
            BOOST_TEST(heard.body == body);
        }
        BOOST_TEST(upstreams->connects() == 1U);
        BOOST_TEST(upstreams->idle() == 1U);
    });
}

BOOST_AUTO_TEST_CASE(a_request_swallowed_by_a_used_connection_is_sent_once_more) {
    Scripted* server = nullptr;
    Scripted scripted(io,
                      {[&](tcp::socket& socket) -> Awaitable<void> {
                           co_await server->answer(socket, ok("one"));
                           co_await server->read(socket);
                           socket.close();
                       },
                       [&](tcp::socket& socket) -> Awaitable<void> { co_await server->answer(socket, ok("two")); }});
    server = &scripted;
    const auto upstreams = pool(scripted.port());
    drive(io, [&]() -> Awaitable<void> {
        Heard first;
        co_await call(upstreams, first);
        Heard second;
        co_await call(upstreams, second);
        BOOST_TEST(second.body == "two");
        BOOST_TEST(scripted.accepted() == 2);
        BOOST_TEST(scripted.requests().size() == 3U);
    });
}

BOOST_AUTO_TEST_CASE(a_new_connection_that_swallows_a_request_is_not_tried_again) {
    Scripted* server = nullptr;
    Scripted scripted(io, {[&](tcp::socket& socket) -> Awaitable<void> {
                          co_await server->read(socket);
                          socket.close();
                      }});
    server = &scripted;
    drive(io, [&]() -> Awaitable<void> {
        Heard heard;
        co_await call(pool(scripted.port()), heard);
        BOOST_TEST(heard.failed_with(errc::broken));
        BOOST_TEST(scripted.accepted() == 1);
    });
}

BOOST_AUTO_TEST_CASE(an_answer_that_breaks_on_a_used_connection_is_not_asked_for_again) {
    Scripted* server = nullptr;
    Scripted scripted(io, {[&](tcp::socket& socket) -> Awaitable<void> {
                          co_await server->answer(socket, ok("one"));
                          co_await server->answer(socket, "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhal");
                          socket.close();
                      }});
    server = &scripted;
    const auto upstreams = pool(scripted.port());
    drive(io, [&]() -> Awaitable<void> {
        Heard first;
        co_await call(upstreams, first);
        Heard second;
        co_await call(upstreams, second);
        BOOST_TEST(second.failed_with(errc::broken));
        BOOST_TEST(second.body == "hal");
        BOOST_TEST(scripted.accepted() == 1);
    });
}

BOOST_AUTO_TEST_CASE(a_server_that_closes_an_idle_connection_is_noticed_before_the_next_request) {
    Scripted* server = nullptr;
    Scripted scripted(io,
                      {[&](tcp::socket& socket) -> Awaitable<void> {
                           co_await server->answer(socket, ok("one"));
                           socket.close();
                       },
                       [&](tcp::socket& socket) -> Awaitable<void> { co_await server->answer(socket, ok("two")); }});
    server = &scripted;
    const auto upstreams = pool(scripted.port());
    drive(io, [&]() -> Awaitable<void> {
        Heard first;
        co_await call(upstreams, first);
        co_await eventually([&] { return upstreams->idle() == 0; }, "the end to be noticed");
        Heard second;
        co_await call(upstreams, second);
        BOOST_TEST(second.body == "two");
        BOOST_TEST(scripted.requests().size() == 2U);
    });
}

BOOST_AUTO_TEST_CASE(bytes_between_answers_end_the_connection) {
    Scripted* server = nullptr;
    Scripted scripted(io, {[&](tcp::socket& socket) -> Awaitable<void> {
                          co_await server->answer(socket, ok("one"));
                          co_await asio::async_write(socket, asio::buffer(ok("stray")), as_result);
                      }});
    server = &scripted;
    const auto upstreams = pool(scripted.port());
    drive(io, [&]() -> Awaitable<void> {
        Heard heard;
        co_await call(upstreams, heard);
        co_await eventually([&] { return upstreams->idle() == 0; }, "the connection to be dropped");
        BOOST_TEST(heard.body == "one");
    });
}

BOOST_AUTO_TEST_CASE(connections_live_shorter_than_the_server_says) {
    Scripted* server = nullptr;
    Scripted scripted(io, {[&](tcp::socket& socket) -> Awaitable<void> {
                          co_await server->answer(socket, ok("one", "keep-alive: timeout=1, max=9\r\n"));
                      }});
    server = &scripted;
    const auto upstreams = pool(scripted.port());
    drive(io, [&]() -> Awaitable<void> {
        Heard heard;
        co_await call(upstreams, heard);
        BOOST_TEST(heard.succeeded());
        BOOST_TEST(upstreams->idle() == 0U);
    });
}

BOOST_AUTO_TEST_CASE(chunks_come_decoded_as_they_arrive) {
    Scripted* server = nullptr;
    bool go_on = false;
    Scripted scripted(
        io, {[&](tcp::socket& socket) -> Awaitable<void> {
            co_await server->answer(socket, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n");
            co_await eventually([&] { return go_on; }, "leave to go on");
            co_await asio::async_write(socket, asio::buffer(std::string("2;x=y\r\nde\r\n0\r\n\r\n")), as_result);
        }});
    server = &scripted;
    drive(io, [&]() -> Awaitable<void> {
        Heard heard;
        UpstreamCall one(pool(scripted.port()), heard);
        one.send(request, "");
        co_await eventually([&] { return heard.body == "abc"; }, "the first chunk");
        BOOST_TEST(!heard.end.has_value());
        go_on = true;
        co_await eventually([&] { return heard.end.has_value(); }, "an end");
        BOOST_TEST(heard.body == "abcde");
        BOOST_TEST(heard.succeeded());
    });
}

BOOST_AUTO_TEST_CASE(answers_that_come_byte_by_byte_are_kept_apart) {
    Scripted* server = nullptr;
    const auto slowly = [&](std::string bytes) -> Scripted::Script {
        return [&server, bytes](tcp::socket& socket) -> Awaitable<void> {
            co_await server->read(socket);
            for (const char& byte : bytes) {
                co_await asio::async_write(socket, asio::buffer(&byte, 1), as_result);
                // The other connection's turn.
                co_await asio::post(socket.get_executor(), asio::use_awaitable);
                co_await asio::post(socket.get_executor(), asio::use_awaitable);
            }
        };
    };
    const std::string head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    Scripted scripted(io, {slowly(head + "5\r\nfirst\r\n3\r\none\r\n0\r\n\r\n"),
                           slowly(head + "6\r\nsecond\r\n3\r\ntwo\r\n0\r\n\r\n")});
    server = &scripted;
    const auto upstreams = pool(scripted.port());
    drive(io, [&]() -> Awaitable<void> {
        std::array<Heard, 2> heard;
        UpstreamCall first(upstreams, heard[0]);
        UpstreamCall second(upstreams, heard[1]);
        first.send(request, "");
        second.send(request, "");
        co_await eventually([&] { return heard[0].end && heard[1].end; }, "both ends");
        BOOST_TEST(heard[0].succeeded());
        BOOST_TEST(heard[1].succeeded());
        const std::set<std::string> bodies{heard[0].body, heard[1].body};
        BOOST_TEST(bodies == (std::set<std::string>{"firstone", "secondtwo"}));
        BOOST_TEST(upstreams->idle() == 2U);
    });
}

BOOST_AUTO_TEST_CASE(a_body_without_a_length_ends_with_the_connection) {
    Scripted* server = nullptr;
    Scripted scripted(io, {[&](tcp::socket& socket) -> Awaitable<void> {
                          co_await server->answer(socket, "HTTP/1.1 200 OK\r\n\r\nall of it");
                          socket.close();
                      }});
    server = &scripted;
    drive(io, [&]() -> Awaitable<void> {
        Heard heard;
        co_await call(pool(scripted.port()), heard);
        BOOST_TEST(heard.succeeded());
        BOOST_TEST(heard.body == "all of it");
    });
}

BOOST_AUTO_TEST_CASE(what_is_not_http_is_malformed) {
    Scripted* server = nullptr;
    Scripted scripted(io, {[&](tcp::socket& socket) -> Awaitable<void> {
                               co_await server->answer(socket, "SSH-2.0-OpenSSH_9.2\r\n\r\n");
                           },
                           [&](tcp::socket& socket) -> Awaitable<void> {
                               co_await server->answer(socket,
                                                       "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: "
                                                       "2\r\n\r\nab");
                           }});
    server = &scripted;
    drive(io, [&]() -> Awaitable<void> {
        for (int i = 0; i < 2; ++i) {
            Heard heard;
            co_await call(pool(scripted.port()), heard);
            BOOST_TEST(heard.failed_with(errc::malformed));
        }
    });
}

BOOST_AUTO_TEST_CASE(a_call_that_is_cancelled_closes_its_connection_and_hears_no_more) {
    Scripted* server = nullptr;
    bool closed = false;
    Scripted scripted(io, {[&](tcp::socket& socket) -> Awaitable<void> {
                          co_await server->answer(socket, "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc");
                          std::array<char, 1> byte;
                          const auto [code, bytes] = co_await socket.async_read_some(asio::buffer(byte), as_result);
                          closed = code.failed();
                      }});
    server = &scripted;
    drive(io, [&]() -> Awaitable<void> {
        Heard heard;
        UpstreamCall one(pool(scripted.port()), heard);
        one.send(request, "");
        co_await eventually([&] { return heard.body == "abc"; }, "the first bytes");
        one.cancel();
        co_await eventually([&] { return closed; }, "the server to see the end");
        BOOST_TEST(!heard.end.has_value());
    });
}

BOOST_AUTO_TEST_CASE(nothing_that_listens_is_told_from_a_broken_connection) {
    drive(io, [&]() -> Awaitable<void> {
        tcp::acceptor taken(io, to_asio_tcp(any_port));
        const std::uint16_t port = taken.local_endpoint().port();
        taken.close();
        Heard heard;
        co_await call(pool(port), heard);
        BOOST_TEST(heard.failed_with(errc::connect_failed));
    });
}

BOOST_AUTO_TEST_CASE(a_closed_pool_ends_calls_that_run_and_those_that_come) {
    Scripted* server = nullptr;
    Scripted scripted(io, {[&](tcp::socket& socket) -> Awaitable<void> {
                          co_await server->answer(socket, "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc");
                      }});
    server = &scripted;
    const auto upstreams = pool(scripted.port());
    drive(io, [&]() -> Awaitable<void> {
        Heard running;
        UpstreamCall one(upstreams, running);
        one.send(request, "");
        co_await eventually([&] { return running.body == "abc"; }, "the first bytes");
        upstreams->close();
        BOOST_TEST(running.failed_with(errc::closed));
        Heard late;
        co_await call(upstreams, late);
        BOOST_TEST(late.failed_with(errc::closed));
    });
}

BOOST_AUTO_TEST_CASE(a_reader_that_pauses_stops_the_server) {
    Scripted* server = nullptr;
    std::size_t sent = 0;
    Scripted scripted(io, {[&](tcp::socket& socket) -> Awaitable<void> {
                          co_await server->answer(socket, "HTTP/1.1 200 OK\r\n\r\n");
                          const std::string block(64 * 1024, 'x');
                          for (int i = 0; i < 400; ++i) {
                              co_await asio::async_write(socket, asio::buffer(block), as_result);
                              sent += block.size();
                          }
                          socket.close();
                      }});
    server = &scripted;
    drive(io, [&]() -> Awaitable<void> {
        Heard heard;
        UpstreamCall one(pool(scripted.port()), heard);
        one.send(request, "");
        co_await eventually([&] { return !heard.body.empty(); }, "the first bytes");
        one.set_reading(false);
        // Until what fits the buffers between the two is sent.
        std::size_t before = 1;
        asio::steady_timer pause(io);
        while (before != sent) {
            before = sent;
            pause.expires_after(milliseconds(50));
            co_await pause.async_wait(as_result);
        }
        BOOST_TEST(heard.body.size() < 400U * 64 * 1024);
        BOOST_TEST(sent < 400U * 64 * 1024);
        one.set_reading(true);
        co_await eventually([&] { return heard.end.has_value(); }, "an end");
        BOOST_TEST(heard.body.size() == 400U * 64 * 1024);
    });
}

BOOST_AUTO_TEST_SUITE_END()
