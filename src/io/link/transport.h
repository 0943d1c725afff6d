// Transport: the byte stream under a link. Plain TCP here; an encrypted one has the same shape.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/endpoint.h"
#include "io/async.h"

namespace exa::io {

class Transport {
  public:
    struct Done {
        boost::system::error_code code;
        std::size_t bytes = 0;
    };

    virtual ~Transport() = default;
    // At least one byte, or an error (end of stream is one). One read and one write at a time.
    virtual Awaitable<Done> read_some(std::span<std::uint8_t> into) = 0;
    // All of `buffers` in as few system calls as they take; the memory stays the caller's until then.
    virtual Awaitable<Done> write(std::vector<boost::asio::const_buffer> buffers) = 0;
    // Nothing more will be written; reads go on.
    virtual void shutdown_send() = 0;
    // Ends reads and writes in flight with an error. Idempotent.
    virtual void close() = 0;
    virtual boost::asio::any_io_executor executor() = 0;
    virtual Endpoint remote() const = 0;
};

// Takes a connected socket and turns Nagle's delay off.
std::unique_ptr<Transport> make_tcp_transport(boost::asio::ip::tcp::socket socket);

}  // namespace exa::io
