// Reply: an answer on its way from the replica that makes it to the entry that relays it, over a link or within a peer.
//
// The order is one head, then data, then one end. Both sides live on one executor of the data plane.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "io/link/link.h"

namespace exa::app {

using ReplyPart = io::StreamFrame;

class ReplyWriter {
  public:
    virtual ~ReplyWriter() = default;
    // Completes when the reader's window has room. An error means that nobody reads any more.
    virtual boost::asio::awaitable<Result<void>> write(ReplyPart part) = 0;
    // Called once when the reader gives up, at once if it already has. Replaces the handler set before.
    virtual void on_cancel(std::function<void()> handler) = 0;
};

class ReplyReader {
  public:
    virtual ~ReplyReader() = default;
    // Errors: io::errc::broken and its like, when the writer went away without an end; cancelled after cancel();
    // timed_out when nothing came for so long (the reply can still be read).
    virtual boost::asio::awaitable<Result<ReplyPart>> read(Duration timeout) = 0;
    // The work behind the reply stops soon, and a read that waits ends.
    virtual void cancel() = 0;
};

// The two sides of a link's stream.
std::shared_ptr<ReplyWriter> reply_writer(std::shared_ptr<io::LinkStream> stream);
std::shared_ptr<ReplyReader> reply_reader(std::shared_ptr<io::LinkStream> stream);

struct LocalReply {
    std::shared_ptr<ReplyWriter> writer;
    std::shared_ptr<ReplyReader> reader;
};

// Both ends within one executor. At most 64 parts wait for the reader.
LocalReply make_local_reply(const boost::asio::any_io_executor& executor);

}  // namespace exa::app
