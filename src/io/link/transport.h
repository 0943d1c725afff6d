// Transport: the byte stream under a link: plain TCP, or TLS 1.3 in an encrypted cluster. A link is made with one or
// the other and never changes over.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/endpoint.h"
#include "base/result.h"
#include "io/async.h"
#include "io/link/tls_session.h"

namespace exa::io::link {

class Transport {
  public:
    struct Done {
        boost::system::error_code code;
        std::size_t bytes = 0;
    };

    virtual ~Transport() = default;
    // Before anything else: the ends prove themselves to each other, where the transport can. Errors as of
    // TlsSession::handshake(), and errc::broken. What the other side is to be told has been sent.
    virtual Awaitable<Result<void>> secure() = 0;
    // Who has been proven to be at the ends, and by which key; nothing on a plain transport.
    virtual std::optional<PskIdentity> proven() const = 0;
    // At least one byte, or an error (end of stream is one); what is more than `into` takes goes to `then`. One read
    // and one write at a time.
    virtual Awaitable<Done> read_some(std::span<std::uint8_t> into, std::span<std::uint8_t> then = {}) = 0;
    // All of `buffers` in as few system calls as they take; the memory stays the caller's until then.
    virtual Awaitable<Done> write(std::vector<boost::asio::const_buffer> buffers) = 0;
    // Nothing more will be written; reads go on.
    virtual Awaitable<void> shutdown_send() = 0;
    // shutdown_send(), then drops a bounded amount of what comes until the other side hangs up: to close over unread
    // bytes would destroy what was last written on its way.
    virtual Awaitable<void> linger() = 0;
    // Ends reads and writes in flight with an error. Idempotent.
    virtual void close() = 0;
    // What leaves from now on yields to other traffic, of this host and of routers that know RFC 8622. Idempotent.
    virtual void set_background_priority() = 0;
    virtual boost::asio::any_io_executor executor() = 0;
    virtual Endpoint remote() const = 0;
};

// Takes a connected socket and turns Nagle's delay off.
std::unique_ptr<Transport> make_tcp_transport(boost::asio::ip::tcp::socket socket);
// The same under TLS. `rekey_records` as of TlsSession::write().
std::unique_ptr<Transport> make_tls_transport(boost::asio::ip::tcp::socket socket, std::unique_ptr<TlsSession> session,
                                              std::uint64_t rekey_records);

}  // namespace exa::io::link
