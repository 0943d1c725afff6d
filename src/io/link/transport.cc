#include "io/link/transport.h"

#include <boost/asio/write.hpp>
#include <utility>

#include "io/net.h"

namespace exa::io {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

class TcpTransport final : public Transport {
  public:
    explicit TcpTransport(tcp::socket socket) : socket_(std::move(socket)) {
        boost::system::error_code code;
        socket_.set_option(tcp::no_delay(true), code);
        if (const auto remote = socket_.remote_endpoint(code); !code) remote_ = from_asio(remote);
    }

    Awaitable<Done> read_some(std::span<std::uint8_t> into) override {
        const auto [code, bytes] =
            co_await socket_.async_read_some(asio::mutable_buffer(into.data(), into.size()), as_result);
        co_return Done{code, bytes};
    }

    Awaitable<Done> write(std::vector<asio::const_buffer> buffers) override {
        const auto [code, bytes] = co_await asio::async_write(socket_, buffers, as_result);
        co_return Done{code, bytes};
    }

    void shutdown_send() override {
        boost::system::error_code code;
        socket_.shutdown(tcp::socket::shutdown_send, code);
    }

    void close() override {
        boost::system::error_code code;
        socket_.close(code);
    }

    asio::any_io_executor executor() override { return socket_.get_executor(); }
    Endpoint remote() const override { return remote_; }

  private:
    tcp::socket socket_;
    Endpoint remote_;
};

}  // namespace

std::unique_ptr<Transport> make_tcp_transport(tcp::socket socket) {
    return std::make_unique<TcpTransport>(std::move(socket));
}

}  // namespace exa::io
