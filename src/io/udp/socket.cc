#include "io/udp/socket.h"

#include <array>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <utility>

#include "io/net.h"

namespace exa::io::udp {

namespace asio = boost::asio;
using asio::ip::udp;

namespace {

// A burst of gossip must not be lost for want of room: the kernel's default holds about a hundred packets.
constexpr int receive_buffer_bytes = 4 * 1024 * 1024;

// Datagrams taken in one iteration of the event loop; other work follows.
constexpr int burst_max = 64;

}  // namespace

struct UdpSocket::State : std::enable_shared_from_this<UdpSocket::State> {
    explicit State(asio::io_context& context) : socket(context) {}

    void wait();
    void receive();

    udp::socket socket;
    Handler handler;
    Endpoint bound;
    bool dual = false;  // an IPv6 socket that carries IPv4 as mapped addresses
    UdpStats stats;
    // One byte more than a datagram may have tells a long one from one that fits.
    std::array<std::uint8_t, datagram_bytes_max + 1> buffer{};
};

void UdpSocket::State::wait() {
    socket.async_wait(udp::socket::wait_read, [self = shared_from_this()](const boost::system::error_code& code) {
        if (code) return;
        self->receive();
        if (self->socket.is_open()) self->wait();
    });
}

void UdpSocket::State::receive() {
    for (int i = 0; i < burst_max && socket.is_open(); ++i) {
        udp::endpoint from;
        boost::system::error_code code;
        const std::size_t size = socket.receive_from(asio::buffer(buffer), from, 0, code);
        if (code == asio::error::would_block) return;
        if (code) {
            ++stats.receive_errors;
            continue;
        }
        if (size > datagram_bytes_max) {
            ++stats.oversized;
            continue;
        }
        ++stats.received;
        stats.bytes_received += size;
        if (handler) handler(from_asio(from), {buffer.data(), size});
    }
}

UdpSocket::UdpSocket(asio::io_context& context) : state_(std::make_shared<State>(context)) {}

UdpSocket::~UdpSocket() {
    close();
}

Result<void> UdpSocket::bind(Endpoint endpoint, Handler handler) {
    udp::socket& socket = state_->socket;
    const udp::endpoint local = to_asio_udp(endpoint);
    boost::system::error_code code;
    socket.open(local.protocol(), code);
    state_->dual = !endpoint.is_v4() && endpoint.is_unspecified();
    if (!code && !endpoint.is_v4()) socket.set_option(asio::ip::v6_only(!state_->dual), code);
    if (!code) socket.bind(local, code);
    if (!code) socket.non_blocking(true, code);
    if (code) {
        boost::system::error_code ignored;
        socket.close(ignored);
        return bind_error("gossip", endpoint, code);
    }
    // The kernel caps it at net.core.rmem_max; less is still more than the default.
    socket.set_option(asio::socket_base::receive_buffer_size(receive_buffer_bytes), code);
    state_->bound = from_asio(socket.local_endpoint(code));
    state_->handler = std::move(handler);
    state_->wait();
    return success();
}

Endpoint UdpSocket::endpoint() const {
    return state_->bound;
}

bool UdpSocket::send(const Endpoint& to, ByteView bytes) {
    const udp::endpoint target =
        state_->dual ? udp::endpoint(asio::ip::address_v6(to.address), to.port) : to_asio_udp(to);
    boost::system::error_code code;
    state_->socket.send_to(asio::buffer(bytes.data(), bytes.size()), target, 0, code);
    if (code == asio::error::would_block || code == asio::error::no_buffer_space)
        ++state_->stats.send_dropped;
    else if (code)
        ++state_->stats.send_failed;
    if (code) return false;
    ++state_->stats.sent;
    state_->stats.bytes_sent += bytes.size();
    return true;
}

void UdpSocket::close() {
    state_->handler = nullptr;
    boost::system::error_code ignored;
    state_->socket.close(ignored);
}

const UdpStats& UdpSocket::stats() const {
    return state_->stats;
}

}  // namespace exa::io::udp
