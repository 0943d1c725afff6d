// StreamSocket: a connected TCP socket that is read and written when it is ready.
//
// The problem. Asio asks a socket again after every read that gave something, and finds nothing: that costs as much as
// a third of the read. The sketch: the sockets of one io_context are in an epoll set of their own, edge-triggered, and
// Asio watches that set as one descriptor. An iteration of the loop costs two system calls more for it, and each read
// one less: one that does not fill its buffer has emptied the socket, for bytes that come later raise another edge, and
// an end that came with these bytes was told with them (EPOLLRDHUP).
//
// Nor does a socket have memory of its own to read into: what comes is taken at once, and a buffer that all sockets of
// the thread share stays in its cache, where hundreds of them would not.
//
// Threading: all sockets of an io_context belong to the one thread that runs it.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/query.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

namespace exa::io {

class SocketWatch;

class SocketOwner {
  public:
    // From the event loop, possibly for nothing: may_read() or may_write() has become true. The owner may close the
    // socket and destroy itself.
    virtual void on_ready() = 0;

  protected:
    ~SocketOwner() = default;
};

class StreamSocket {
  public:
    struct Done {
        boost::system::error_code code;  // would_block: on_ready() follows
        std::size_t bytes = 0;
    };

    StreamSocket() = default;
    ~StreamSocket() { close(); }
    StreamSocket(const StreamSocket&) = delete;
    StreamSocket& operator=(const StreamSocket&) = delete;

    // Takes a connected socket over from Asio. It is closed where the system cannot watch it.
    template <class AsioSocket>
    void open(AsioSocket socket, SocketOwner& owner) {
        auto& context = boost::asio::query(socket.get_executor(), boost::asio::execution::context);
        boost::system::error_code code;
        const int handle = socket.release(code);
        if (!code) open(static_cast<boost::asio::io_context&>(context), handle, owner);
    }
    bool is_open() const { return handle_ >= 0; }

    // False when a read is known to find nothing.
    bool may_read() const { return may_read_; }
    bool may_write() const { return may_write_; }
    // At least one byte, or an error; eof is one.
    Done read(std::span<char> into);
    // Memory to read into, 64 KiB that all sockets of an io_context share: the next read of any of them may change it.
    // Of an open socket.
    std::span<char> shared_buffer() const;
    // As much as the socket takes now.
    Done write(std::span<const boost::asio::const_buffer> buffers);
    // Whether bytes have come that are not read.
    bool has_input() const;
    // The other side has reset the connection, or both sides have ended it; nothing more can be sent.
    bool is_broken() const { return broken_; }

    void shutdown_send();
    void close();

  private:
    friend class SocketWatch;

    void open(boost::asio::io_context& context, int handle, SocketOwner& owner);
    void note(std::uint32_t events);

    SocketWatch* watch_ = nullptr;
    SocketOwner* owner_ = nullptr;
    int handle_ = -1;
    bool may_read_ = false;  // until the first event
    bool may_write_ = true;
    bool broken_ = false;
    bool ended_ = false;  // the other side has closed, or the connection broke: no edge follows what is read now
};

}  // namespace exa::io
