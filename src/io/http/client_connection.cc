#include "io/http/client_connection.h"

#include <sys/socket.h>

#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstring>
#include <tuple>

#include "io/net.h"

namespace exa::io::http {

namespace asio = boost::asio;

namespace {

constexpr std::size_t buffer_bytes = 16 * 1024;
// Beyond the largest header that the parser takes.
constexpr std::size_t buffer_bytes_max = 128 * 1024;

}  // namespace

ClientConnection::ClientConnection(const asio::any_io_executor& executor) : socket_(executor), buffer_(buffer_bytes) {}

Error ClientConnection::fault(errc otherwise, std::string_view what) const {
    if (late_) return error(errc::timed_out);
    if (closed_) return error(errc::cancelled);
    return error(otherwise, std::string(what));
}

Awaitable<Result<void>> ClientConnection::connect(Endpoint endpoint, Duration timeout) {
    const auto to = to_asio_tcp(endpoint);
    boost::system::error_code code;
    refused_ = false;
    socket_.open(to.protocol(), code);
    if (code) co_return fault(errc::connect_failed, code.message());
    deadline_ = Clock::now() + timeout;
    std::tie(code) = co_await socket_.async_connect(to, as_result);
    deadline_ = Clock::time_point::max();
    refused_ = code == asio::error::connection_refused;
    if (code || late_ || closed_) co_return fault(errc::connect_failed, code.message());
    socket_.set_option(asio::ip::tcp::no_delay(true), code);
    co_return success();
}

Awaitable<Result<void>> ClientConnection::exchange(std::string_view request, ResponseSink& sink,
                                                   Duration first_byte_timeout, Duration idle_timeout) {
    keeps_alive_ = false;
    parser_.begin(sink);
    deadline_ = Clock::now() + first_byte_timeout;
    const auto [code, bytes] = co_await asio::async_write(socket_, asio::buffer(request), as_result);
    // A server that refuses early may close its side before it has read everything: its answer still comes.
    if (code && (late_ || closed_)) co_return fault(errc::broken, {});
    auto received = co_await receive(idle_timeout);
    deadline_ = Clock::time_point::max();
    keeps_alive_ = received.has_value() && !code && parser_.keeps_alive();
    co_return received;
}

Awaitable<Result<void>> ClientConnection::receive(Duration idle_timeout) {
    while (true) {
        if (filled_ == buffer_.size() && filled_ < buffer_bytes_max) buffer_.resize(filled_ * 2);
        const auto [code, bytes] = co_await socket_.async_read_some(
            asio::buffer(buffer_.data() + filled_, buffer_.size() - filled_), as_result);
        if (late_ || closed_) co_return fault(errc::cancelled, {});
        if (code) {
            if (parser_.feed_end()) co_return success();
            co_return error(errc::broken,
                            code == asio::error::eof ? "the server closed the connection" : code.message());
        }
        deadline_ = Clock::now() + idle_timeout;
        filled_ += bytes;
        const auto taken = parser_.feed({buffer_.data(), filled_});
        if (!taken) {
            if (parser_.is_stopped()) co_return error(errc::cancelled);
            co_return error(errc::malformed, parser_.fault());
        }
        filled_ -= *taken;
        std::memmove(buffer_.data(), buffer_.data() + *taken, filled_);
        if (parser_.is_done()) co_return success();
        if (filled_ == buffer_bytes_max) co_return error(errc::malformed, "a header or a chunk's head is too long");
    }
}

bool ClientConnection::is_reusable() {
    if (!keeps_alive() || !socket_.is_open()) return false;
    // Nothing may come between answers: bytes would be of nobody's, and an end is the end.
    char byte = 0;
    const auto got = recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

void ClientConnection::check(Clock::time_point now) {
    if (now < deadline_) return;
    late_ = true;
    shut();
}

void ClientConnection::close() {
    closed_ = true;
    shut();
}

void ClientConnection::shut() {
    boost::system::error_code ignored;
    socket_.close(ignored);
}

}  // namespace exa::io::http
