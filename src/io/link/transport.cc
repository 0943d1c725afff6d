#include "io/link/transport.h"

#include <array>
#include <boost/asio/write.hpp>
#include <utility>

#include "io/errc.h"
#include "io/net.h"

namespace exa::io::link {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

// How much is read and dropped of a side that is told no: 64 reads.
constexpr int linger_reads_max = 64;

// What an encrypted connection keeps for its next batch.
constexpr std::size_t resting_capacity = 64 * 1024;

// Both transports are a socket; they differ in what goes over it.
class SocketTransport : public Transport {
  public:
    explicit SocketTransport(tcp::socket socket) : socket_(std::move(socket)) {
        boost::system::error_code code;
        socket_.set_option(tcp::no_delay(true), code);
        if (const auto remote = socket_.remote_endpoint(code); !code) remote_ = from_asio(remote);
    }

    Awaitable<void> shutdown_send() override {
        boost::system::error_code code;
        socket_.shutdown(tcp::socket::shutdown_send, code);
        co_return;
    }

    Awaitable<void> linger() override {
        co_await shutdown_send();
        std::array<std::uint8_t, 512> ignored{};
        for (int reads = 0; reads < linger_reads_max; ++reads)
            if (const auto done = co_await receive(ignored); done.code) break;
    }

    void close() override {
        boost::system::error_code code;
        socket_.close(code);
    }

    void set_background_priority() override {
        if (!std::exchange(is_background_, true)) io::set_background_priority(socket_);
    }

    asio::any_io_executor executor() override { return socket_.get_executor(); }
    Endpoint remote() const override { return remote_; }

  protected:
    Awaitable<Done> receive(std::span<std::uint8_t> into, std::span<std::uint8_t> then = {}) {
        const std::array<asio::mutable_buffer, 2> buffers = {asio::mutable_buffer(into.data(), into.size()),
                                                             asio::mutable_buffer(then.data(), then.size())};
        const std::span<const asio::mutable_buffer> wanted(buffers.data(), then.empty() ? 1 : 2);
        const auto [code, bytes] = co_await socket_.async_read_some(wanted, as_result);
        co_return Done{code, bytes};
    }

    // As the socket takes it: asio::async_write would hand over 64 KiB at a time.
    Awaitable<Done> send(std::vector<asio::const_buffer> buffers) {
        std::size_t sent = 0;
        std::size_t next = 0;
        while (next < buffers.size()) {
            const std::span<const asio::const_buffer> rest(buffers.begin() + static_cast<std::ptrdiff_t>(next),
                                                           buffers.end());
            const auto [code, bytes] = co_await socket_.async_write_some(rest, as_result);
            sent += bytes;
            if (code) co_return Done{code, sent};
            std::size_t taken = bytes;
            for (; next < buffers.size() && taken >= buffers[next].size(); ++next) taken -= buffers[next].size();
            if (taken > 0) buffers[next] += taken;
        }
        co_return Done{{}, sent};
    }

  private:
    tcp::socket socket_;
    Endpoint remote_;
    bool is_background_ = false;
};

class TcpTransport final : public SocketTransport {
  public:
    using SocketTransport::SocketTransport;

    Awaitable<Result<void>> secure() override { co_return success(); }
    std::optional<PskIdentity> proven() const override { return std::nullopt; }
    Awaitable<Done> read_some(std::span<std::uint8_t> into, std::span<std::uint8_t> then) override {
        return receive(into, then);
    }
    Awaitable<Done> write(std::vector<asio::const_buffer> buffers) override { return send(std::move(buffers)); }
};

class TlsTransport final : public SocketTransport {
  public:
    TlsTransport(tcp::socket socket, std::unique_ptr<TlsSession> session, std::uint64_t rekey_records)
        : SocketTransport(std::move(socket)), session_(std::move(session)), rekey_records_(rekey_records) {}

    Awaitable<Result<void>> secure() override {
        bool answered = false;
        while (true) {
            const auto step = session_->handshake();
            // The dialler's last word leaves with its hello.
            if (step && step.value()) co_return success();
            if (const Bytes out = session_->take_output(); !out.empty())
                if (const auto sent = co_await send({asio::buffer(out)}); sent.code && step)
                    co_return error(errc::broken, "TLS handshake: " + sent.code.message());
            if (!step) co_return step.error();
            const auto got = co_await receive(session_->prepare());
            if (got.code)
                co_return error(errc::broken, answered ? "TLS handshake: " + got.code.message()
                                                       : "closed without an answer (does the other end encrypt, too?)");
            answered = true;
            session_->commit(got.bytes);
        }
    }

    std::optional<PskIdentity> proven() const override { return session_->identity(); }

    Awaitable<Done> read_some(std::span<std::uint8_t> into, std::span<std::uint8_t> then) override {
        while (true) {
            std::size_t bytes = 0;
            while (bytes < into.size() + then.size()) {
                const auto read =
                    session_->read(bytes < into.size() ? into.subspan(bytes) : then.subspan(bytes - into.size()));
                if (!read && bytes == 0) {
                    if (read.error().code == errc::closed) co_return Done{asio::error::eof, 0};
                    co_return Done{make_error_code(boost::system::errc::protocol_error), 0};
                }
                if (!read || read.value() == 0) break;
                bytes += read.value();
            }
            if (bytes > 0) co_return Done{{}, bytes};
            const auto got = co_await receive(session_->prepare());
            if (got.code) co_return got;
            session_->commit(got.bytes);
        }
    }

    Awaitable<Done> write(std::vector<asio::const_buffer> buffers) override {
        std::vector<ByteView> pieces;
        pieces.reserve(buffers.size());
        for (const auto& buffer : buffers)
            pieces.emplace_back(static_cast<const std::uint8_t*>(buffer.data()), buffer.size());
        if (!session_->write(pieces, rekey_records_))
            co_return Done{make_error_code(boost::system::errc::protocol_error), 0};
        Bytes out = session_->take_output(std::move(spare_));
        const auto sent = co_await send({asio::buffer(out)});
        if (out.capacity() <= resting_capacity) spare_ = std::move(out);
        co_return Done{sent.code, sent.code ? 0 : asio::buffer_size(buffers)};
    }

    Awaitable<void> shutdown_send() override {
        session_->finish_writing();
        if (const Bytes out = session_->take_output(); !out.empty()) co_await send({asio::buffer(out)});
        co_await SocketTransport::shutdown_send();
    }

  private:
    std::unique_ptr<TlsSession> session_;
    const std::uint64_t rekey_records_;
    Bytes spare_;
};

}  // namespace

std::unique_ptr<Transport> make_tcp_transport(tcp::socket socket) {
    return std::make_unique<TcpTransport>(std::move(socket));
}

std::unique_ptr<Transport> make_tls_transport(tcp::socket socket, std::unique_ptr<TlsSession> session,
                                              std::uint64_t rekey_records) {
    return std::make_unique<TlsTransport>(std::move(socket), std::move(session), rekey_records);
}

}  // namespace exa::io::link
