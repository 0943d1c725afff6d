// What the tests of io share: a loop that drives one coroutine to its end, within a bound.
#pragma once

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "base/endpoint.h"
#include "io/async.h"
#include "io/net.h"

namespace exa::io::test {

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline const Endpoint any_port = *parse_endpoint("127.0.0.1:0");

// Runs `body` (a function that gives a coroutine) on the context until it ends; fails the case after ten seconds.
template <class Body>
void drive(asio::io_context& io, Body body) {
    bool done = false;
    std::exception_ptr thrown;
    asio::co_spawn(
        io, [&body]() -> Awaitable<void> { co_await body(); },
        [&](std::exception_ptr exception) {
            done = true;
            thrown = exception;
        });
    io.restart();
    const auto until = std::chrono::steady_clock::now() + seconds(10);
    while (!done && std::chrono::steady_clock::now() < until) io.run_one_until(until);
    if (thrown) std::rethrow_exception(thrown);
    BOOST_REQUIRE_MESSAGE(done, "the coroutine did not end in time");
}

// Yields to the loop until `condition` holds; for what other coroutines do in their own time. Fails after five seconds.
template <class Condition>
Awaitable<void> eventually(Condition condition, const char* what) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    const auto until = std::chrono::steady_clock::now() + seconds(5);
    while (!condition()) {
        BOOST_REQUIRE_MESSAGE(std::chrono::steady_clock::now() < until, what);
        timer.expires_after(milliseconds(1));
        co_await timer.async_wait(as_result);
    }
}

// A bare socket for saying what a well-behaved client would not.
class RawClient {
  public:
    explicit RawClient(asio::io_context& io) : socket_(io) {}

    Awaitable<void> connect(Endpoint to) {
        const auto [code] = co_await socket_.async_connect(to_asio_tcp(to), as_result);
        BOOST_REQUIRE_MESSAGE(!code, code.message());
    }
    Awaitable<void> send(std::string bytes) {
        const auto [code, sent] = co_await asio::async_write(socket_, asio::buffer(bytes), as_result);
        BOOST_REQUIRE_MESSAGE(!code, code.message());
    }
    // Sends as much as the other side takes; a refusal in the middle is fine.
    Awaitable<void> send_what_goes(std::string bytes) {
        co_await asio::async_write(socket_, asio::buffer(bytes), as_result);
    }
    // What has come once `mark` is in it, or at the end of the stream; later calls go on after it.
    Awaitable<std::string> read_until(std::string mark) {
        std::size_t from = 0;
        while (inbox_.find(mark, from) == std::string::npos) {
            from = inbox_.size() - std::min(inbox_.size(), mark.size());
            std::array<char, 16 * 1024> chunk;
            const auto [code, bytes] = co_await socket_.async_read_some(asio::buffer(chunk), as_result);
            if (code) {
                ended_ = true;
                co_return std::exchange(inbox_, {});
            }
            inbox_.append(chunk.data(), bytes);
        }
        const std::size_t end = inbox_.find(mark) + mark.size();
        std::string taken = inbox_.substr(0, end);
        inbox_.erase(0, end);
        co_return taken;
    }
    Awaitable<std::string> read_to_end() {
        while (!ended_) {
            std::array<char, 4096> chunk;
            const auto [code, bytes] = co_await socket_.async_read_some(asio::buffer(chunk), as_result);
            if (code) ended_ = true;
            inbox_.append(chunk.data(), bytes);
        }
        co_return std::exchange(inbox_, {});
    }
    bool ended() const { return ended_; }
    void shutdown_send() {
        boost::system::error_code ignored;
        socket_.shutdown(tcp::socket::shutdown_send, ignored);
    }
    void close() {
        boost::system::error_code ignored;
        socket_.close(ignored);
    }
    tcp::socket& socket() { return socket_; }

  private:
    tcp::socket socket_;
    std::string inbox_;
    bool ended_ = false;
};

}  // namespace exa::io::test
