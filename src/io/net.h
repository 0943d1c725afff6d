// Endpoints and listeners in Asio's terms, for the sockets of io.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/system/error_code.hpp>
#include <string_view>

#include "base/endpoint.h"
#include "base/result.h"

namespace exa::io {

// IPv4 addresses become Asio's v4 ones.
boost::asio::ip::address to_asio_address(const Endpoint& endpoint);
boost::asio::ip::tcp::endpoint to_asio_tcp(const Endpoint& endpoint);
boost::asio::ip::udp::endpoint to_asio_udp(const Endpoint& endpoint);
Endpoint from_asio(const boost::asio::ip::tcp::endpoint& endpoint);
Endpoint from_asio(const boost::asio::ip::udp::endpoint& endpoint);

// What a failed bind means; `what` names the use: "http", "gossip".
Error bind_error(std::string_view what, const Endpoint& endpoint, const boost::system::error_code& code);

// A listening socket, dual-stack when the address is the unspecified IPv6 one.
Result<boost::asio::ip::tcp::acceptor> listen_tcp(boost::asio::io_context& context, std::string_view what,
                                                  const Endpoint& endpoint, bool reuse_port);

// What the socket sends from now on is lower effort (RFC 8622) to routers and bulk to this host's queues. Where that
// cannot be had, nothing changes.
void set_background_priority(boost::asio::ip::tcp::socket& socket);

// errc::port_taken when anything listens on the TCP endpoint. Servers that share a port (reuse_port) would share it
// with another process as well, silently: whoever starts them asks this before the first.
Result<void> check_tcp_port_free(boost::asio::io_context& context, std::string_view what, const Endpoint& endpoint);

}  // namespace exa::io
