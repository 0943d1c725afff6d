// UdpSocket: datagrams in and out of one bound endpoint.
//
// Threading: belongs to the one thread that runs its io_context.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/bytes.h"
#include "base/endpoint.h"
#include "base/result.h"

namespace exa::io::udp {

struct UdpStats {
    std::uint64_t received = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t sent = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t oversized = 0;       // dropped: longer than datagram_bytes_max
    std::uint64_t send_dropped = 0;    // the socket's buffer was full
    std::uint64_t send_failed = 0;     // any other error, such as no route
    std::uint64_t receive_errors = 0;  // such as an ICMP answer to something sent earlier
};

class UdpSocket {
  public:
    // Called from the event loop, once a datagram; the bytes are valid during the call.
    using Handler = std::function<void(Endpoint from, ByteView bytes)>;

    // Longer datagrams are not ours: gossip keeps to 1,400 bytes.
    static constexpr std::size_t datagram_bytes_max = 2048;

    explicit UdpSocket(boost::asio::io_context& context);
    ~UdpSocket();
    UdpSocket(const UdpSocket&) = delete;
    UdpSocket& operator=(const UdpSocket&) = delete;

    // Binds and starts to receive. The unspecified IPv6 address takes IPv4 as well; port 0 takes a free one.
    // errc::port_taken, errc::address_unusable.
    Result<void> bind(Endpoint endpoint, Handler handler);
    // What was bound, with the real port.
    Endpoint endpoint() const;

    // Never blocks: a datagram that does not go at once is dropped and counted. False when it was not sent.
    bool send(const Endpoint& to, ByteView bytes);

    // No handler call comes after this.
    void close();

    const UdpStats& stats() const;

  private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace exa::io::udp
