// LinkServer: the accepting side of peer links (pool.h): takes links and hands their streams to the owner.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>

#include "base/bytes.h"
#include "base/endpoint.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/result.h"
#include "io/link/config.h"
#include "io/link/inbound_stream.h"
#include "wire/link_messages.h"

namespace exa::io::link {

class LinkServer {
  public:
    using OpenHandler = std::function<void(std::shared_ptr<InboundStream> stream, wire::Open open)>;
    using SyncHandler = std::function<void(PeerId from, Endpoint from_address, Bytes message)>;

    LinkServer(boost::asio::io_context& context, LinkConfig config, LinkIdentity identity, Log& log,
               LinkEncryption encryption = {});
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

}  // namespace exa::io::link
