#include "io/net.h"

#include <algorithm>
#include <boost/asio/ip/v6_only.hpp>
#include <string>

#include "io/errc.h"

namespace exa::io {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr int listen_backlog = 4096;
// Code point 000001 in the upper six bits of the traffic class, and TC_PRIO_BULK.
constexpr int lower_effort = 1 << 2;
constexpr int bulk_priority = 2;

using ReusePort = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;
using TypeOfService = asio::detail::socket_option::integer<IPPROTO_IP, IP_TOS>;
using TrafficClass = asio::detail::socket_option::integer<IPPROTO_IPV6, IPV6_TCLASS>;
using Priority = asio::detail::socket_option::integer<SOL_SOCKET, SO_PRIORITY>;

Endpoint from_asio(const asio::ip::address& address, std::uint16_t port) {
    Endpoint endpoint;
    endpoint.port = port;
    const auto v6 = address.is_v4() ? asio::ip::make_address_v6(asio::ip::v4_mapped, address.to_v4()) : address.to_v6();
    endpoint.address = v6.to_bytes();
    return endpoint;
}

}  // namespace

asio::ip::address to_asio_address(const Endpoint& endpoint) {
    if (!endpoint.is_v4()) return asio::ip::address_v6(endpoint.address);
    asio::ip::address_v4::bytes_type bytes;
    std::copy(endpoint.address.begin() + 12, endpoint.address.end(), bytes.begin());
    return asio::ip::address_v4(bytes);
}

tcp::endpoint to_asio_tcp(const Endpoint& endpoint) {
    return {to_asio_address(endpoint), endpoint.port};
}

asio::ip::udp::endpoint to_asio_udp(const Endpoint& endpoint) {
    return {to_asio_address(endpoint), endpoint.port};
}

Endpoint from_asio(const tcp::endpoint& endpoint) {
    return from_asio(endpoint.address(), endpoint.port());
}

Endpoint from_asio(const asio::ip::udp::endpoint& endpoint) {
    return from_asio(endpoint.address(), endpoint.port());
}

Error bind_error(std::string_view what, const Endpoint& endpoint, const boost::system::error_code& code) {
    const std::string detail = std::string(what) + " address " + to_string(endpoint);
    if (code == asio::error::address_in_use) return error(errc::port_taken, detail);
    return error(errc::address_unusable, detail + " (" + code.message() + ")");
}

Result<tcp::acceptor> listen_tcp(asio::io_context& context, std::string_view what, const Endpoint& endpoint,
                                 bool reuse_port) {
    const tcp::endpoint local = to_asio_tcp(endpoint);
    tcp::acceptor acceptor(context);
    boost::system::error_code code;
    acceptor.open(local.protocol(), code);
    if (!code) acceptor.set_option(tcp::acceptor::reuse_address(true), code);
    if (!code && reuse_port) acceptor.set_option(ReusePort(true), code);
    if (!code && !endpoint.is_v4()) acceptor.set_option(asio::ip::v6_only(!endpoint.is_unspecified()), code);
    if (!code) acceptor.bind(local, code);
    if (!code) acceptor.listen(listen_backlog, code);
    if (!code) acceptor.non_blocking(true, code);
    if (code) return bind_error(what, endpoint, code);
    return acceptor;
}

void set_background_priority(tcp::socket& socket) {
    boost::system::error_code ignored;
    // An IPv6 socket may carry IPv4. The kernel takes the priority from the type of service, so that comes last.
    socket.set_option(TrafficClass(lower_effort), ignored);
    socket.set_option(TypeOfService(lower_effort), ignored);
    socket.set_option(Priority(bulk_priority), ignored);
}

Result<void> check_tcp_port_free(asio::io_context& context, std::string_view what, const Endpoint& endpoint) {
    EXA_TRY(listen_tcp(context, what, endpoint, false));
    return success();
}

}  // namespace exa::io
