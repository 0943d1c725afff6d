// LinkPool: the dialling side of peer links. It dials lazily and shares one connection among all streams to an
// endpoint.
//
// Peer links: one TCP connection between two peers that carries many streams, under TLS 1.3 in an encrypted cluster.
//
// The idea. The dialler opens streams, one a request; the acceptor answers each with head, data and end. Data spends
// credit that the reading side grants as its consumer reads, so a slow client slows its own stream only. Control frames
// (cancel, credit, ping, sync, end) are written before queued data, frames that are ready together leave in one write,
// and what waits to be written is bounded. A link closes when it has had no stream for a while, and only the dialler
// closes an idle one, so that a request and an idle close cannot cross.
//
// Threading: a pool, a server and their streams belong to the one thread that runs their io_context.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "base/bytes.h"
#include "base/endpoint.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/result.h"
#include "io/async.h"
#include "io/link/config.h"
#include "io/link/outbound_stream.h"
#include "wire/link_messages.h"

namespace exa::io::link {

class LinkPool {
  public:
    using SyncHandler = std::function<void(PeerId from, Bytes message)>;

    LinkPool(boost::asio::io_context& context, LinkConfig config, LinkIdentity identity, Log& log,
             LinkEncryption encryption = {});
    ~LinkPool();
    LinkPool(const LinkPool&) = delete;
    LinkPool& operator=(const LinkPool&) = delete;

    // Opens a stream to `expect` at `to`; PeerId 0 takes whoever listens, on plain links only. Errors: connect_failed,
    // timed_out, wrong_cluster, wrong_version, wrong_peer, encryption_mismatch, wrong_key (the other side holds none of
    // this one's), malformed, too_large, too_many, system (out of descriptors or memory here), broken, closed. Except
    // for broken, nothing of the request was sent.
    Awaitable<Result<std::shared_ptr<OutboundStream>>> open(Endpoint to, PeerId expect, wire::Open open);

    // As open(), now or not at all: nothing when a link must be made first, or the one there is has no room.
    std::optional<Result<std::shared_ptr<OutboundStream>>> try_open(Endpoint to, PeerId expect, const wire::Open& open);

    // Queues a membership message; success means that it was queued on a live link. Errors as of open().
    Awaitable<Result<void>> send_sync(Endpoint to, PeerId expect, Bytes message);

    // Membership messages that come back over dialled links.
    void on_sync(SyncHandler handler);
    // A link to this generation of a peer ended after its hello without a goodbye, or died of silence; its streams have
    // been told.
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

}  // namespace exa::io::link
