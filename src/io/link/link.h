// Peer links: one TCP connection between two peers that carries many streams, under TLS 1.3 in a sealed cluster.
//
// The idea. The dialler opens streams, one a request; the acceptor answers each with head, data and end. Data spends
// credit that the reading side grants as its consumer reads, so a slow client slows its own stream only. Frames that
// steer (cancel, credit, ping, sync, end) are written before queued data, frames that are ready together leave in one
// write, and what waits to be written is bounded. A link closes when it has had no stream for a while, and only the
// dialler closes an idle one, so that a request and an idle close cannot cross.
//
// Threading: a pool, a server and their streams belong to the one thread that runs their io_context.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <variant>

#include "base/bytes.h"
#include "base/endpoint.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/result.h"
#include "base/time.h"
#include "io/async.h"
#include "io/link/config.h"
#include "wire/link_messages.h"

namespace exa::io {

class Link;
class StreamState;

// What a dialler reads: head (at most once, first), data, end (last).
using StreamFrame = std::variant<wire::Head, wire::Data, wire::End>;

// Takes the data of a stream as it comes off the network, to where it stays.
class DataSink {
  public:
    virtual ~DataSink() = default;
    // Where the next bytes go: at least one; valid until filled() has returned.
    virtual std::span<std::uint8_t> room() = 0;
    // So many of them are there. An error cancels the stream.
    virtual Result<void> filled(std::size_t count) = 0;
};

// One request on a link. The dialler reads and may cancel; the acceptor writes and may be cancelled. Dropping the last
// reference before the end cancels on the dialler's side and ends with EndCode::failed on the acceptor's.
class LinkStream {
  public:
    LinkStream(std::shared_ptr<Link> link, std::shared_ptr<StreamState> state);
    ~LinkStream();
    LinkStream(const LinkStream&) = delete;
    LinkStream& operator=(const LinkStream&) = delete;

    // Who is at the other end of the link.
    PeerId peer() const;
    // What this end sends on the link, on any stream of it, gives way to other traffic (RFC 8622, lower effort): for
    // links that carry what nobody waits for at a screen. Idempotent.
    void give_way();

    // Dialler. The next frame; reading data grants its credit. After End: errc::closed. errc::broken when the link
    // died (frames that had arrived come first), errc::cancelled after cancel(), errc::timed_out after `timeout` (the
    // stream is as before). One read at a time.
    Awaitable<Result<StreamFrame>> read(std::optional<Duration> timeout = std::nullopt);
    // Dialler. As read(), without waiting: nothing when it would have to.
    std::optional<Result<StreamFrame>> poll();
    // Called from the event loop, possibly for nothing, when poll() may have an answer again after it had none
    // (dialler), or has_room() one that is better (acceptor); it must do no more than wake whoever asks. Dropped when
    // the LinkStream goes away.
    void on_ready(std::function<void()> handler);
    // Dialler, before the first read(): data goes there and not to read(), as fast as it comes. It may carry no tokens.
    void read_into(std::shared_ptr<DataSink> sink);
    // Dialler. The acceptor is told before any queued data; frames on their way are dropped. Idempotent.
    void cancel();

    // Acceptor. Queues and returns, unless the link's write queue is full or (data only) credit is used up: then it
    // waits. errc::cancelled once the dialler gave up, errc::broken once the link is gone, errc::too_large for data
    // with tokens past one frame (data without tokens is cut into several). One write at a time.
    Awaitable<Result<void>> write_head(wire::Head head);
    Awaitable<Result<void>> write_data(wire::Data data);
    Awaitable<Result<void>> write_end(wire::End end);

    // Acceptor. The same without waiting: what has no room is queued beyond the bound.
    Result<void> push_head(const wire::Head& head);
    Result<void> push_data(wire::Data data);
    Result<void> push_end(const wire::End& end);
    // Data without tokens that is sent from where it is, in one frame; `owner` keeps it there, unchanged.
    Result<void> push_shared(ByteView bytes, std::shared_ptr<const void> owner);
    // Acceptor. False while the link's write queue is full, or, for data, credit is used up.
    bool has_room(bool for_data) const;

    // Acceptor. True once nobody reads any more: the dialler cancelled, or the link broke.
    bool cancelled() const;
    // Acceptor. Called once, from the event loop, when cancelled() becomes true; at once (posted) when it already is.
    // Dropped when the stream ends or the LinkStream goes away.
    void on_cancel(std::function<void()> handler);

  private:
    std::shared_ptr<Link> link_;
    std::shared_ptr<StreamState> state_;
};

// Client side: dials lazily and shares one connection among all streams to an endpoint.
class LinkPool {
  public:
    using SyncHandler = std::function<void(PeerId from, Bytes message)>;

    LinkPool(boost::asio::io_context& context, LinkConfig config, LinkIdentity identity, Log& log,
             LinkSealing sealing = {});
    ~LinkPool();
    LinkPool(const LinkPool&) = delete;
    LinkPool& operator=(const LinkPool&) = delete;

    // Opens a stream to `expect` at `to`; PeerId 0 takes whoever listens, on plain links only. Errors: connect_failed,
    // timed_out, wrong_cluster, wrong_version, wrong_peer, wrong_seal, wrong_key (the other side holds none of this
    // one's), malformed, too_large, too_many, system (out of descriptors or memory here), broken, closed. Except for
    // broken, nothing of the request was sent.
    Awaitable<Result<std::shared_ptr<LinkStream>>> open(Endpoint to, PeerId expect, wire::Open open);

    // As open(), now or not at all: nothing when a link must be made first, or the one there is has no room.
    std::optional<Result<std::shared_ptr<LinkStream>>> try_open(Endpoint to, PeerId expect, const wire::Open& open);

    // Queues a membership message; success means that it was queued on a live link. Errors as of open().
    Awaitable<Result<void>> send_sync(Endpoint to, PeerId expect, Bytes message);

    // Membership messages that come back over dialled links.
    void on_sync(SyncHandler handler);
    // A link to this life of a peer ended after its hello without a goodbye, or died of silence; its streams have been
    // told.
    void on_broken(std::function<void(PeerId, Generation)> handler);

    // New links are made with the new primary, or with another of the keys where the other side does not hold it yet.
    // Links made with a key that is gone close at once (their streams end as broken), those with one that is no longer
    // the primary when their last stream ends.
    void set_keys(std::shared_ptr<const LinkKeys> keys);

    // Says goodbye on every link and refuses new work; streams still open end as broken.
    void close();

    LinkStats stats() const;

  private:
    struct State;
    std::shared_ptr<State> state_;
};

// Server side: accepts links and hands their streams to the owner.
class LinkServer {
  public:
    using OpenHandler = std::function<void(std::shared_ptr<LinkStream> stream, wire::Open open)>;
    using SyncHandler = std::function<void(PeerId from, Endpoint from_address, Bytes message)>;

    LinkServer(boost::asio::io_context& context, LinkConfig config, LinkIdentity identity, Log& log,
               LinkSealing sealing = {});
    ~LinkServer();
    LinkServer(const LinkServer&) = delete;
    LinkServer& operator=(const LinkServer&) = delete;

    void on_open(OpenHandler handler);
    void on_sync(SyncHandler handler);

    // Starts to accept; set the handlers before. Port 0 takes a free one. errc::port_taken, errc::address_unusable.
    Result<void> bind(Endpoint endpoint);
    // What was bound, with the real port.
    Endpoint endpoint() const;

    // Links made with any of the keys are welcome; those made with a key that is gone close at once.
    void set_keys(std::shared_ptr<const LinkKeys> keys);

    // Sends over a link that `to` has dialled; false (and nothing happened) when there is none.
    bool send_sync(PeerId to, Bytes message);

    // Stops accepting and says goodbye on every link; streams still open are cancelled.
    void close();

    LinkStats stats() const;

  private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace exa::io
