// LinkConnection: drives a link machine over a transport: it reads, writes, arms one timer, and carries out what the
// machine reports.
// In order: handshake() secures the transport and exchanges hellos; start() sets off the coroutines that read and
// write. When the machine finishes, the transport is closed and the owner is told, once.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/endpoint.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "io/async.h"
#include "io/link/context.h"
#include "io/link/machine.h"
#include "io/link/outbound_stream.h"
#include "io/link/transport.h"

namespace exa::io::link {

class LinkConnection : public std::enable_shared_from_this<LinkConnection> {
  public:
    LinkConnection(std::shared_ptr<LinkContext> context, std::unique_ptr<Transport> transport, LinkMachine::Role role);

    // Secures the transport and exchanges hellos, within hello_timeout. `expect` is who the dialler means. On an error
    // the link is finished, and the other side was told why if it spoke our protocol.
    Awaitable<Result<void>> handshake(PeerId expect);
    void start();

    PeerId peer() const { return machine_.peer(); }
    // The generation of peer() that is at the other end.
    Generation generation() const { return machine_.generation(); }
    // The key that the link is encrypted with; 0 on a plain one.
    KeyId key() const;
    bool handshake_done() const { return machine_.handshake_done(); }
    Endpoint remote() const { return transport_->remote(); }
    boost::asio::any_io_executor executor() const { return transport_->executor(); }
    bool usable() const { return machine_.usable(); }
    bool has_room() const { return machine_.has_room(); }

    // Dialler: sends the request once the bulk lane has room.
    Awaitable<Result<std::shared_ptr<OutboundStream>>> open(std::shared_ptr<const wire::Open> open);
    // The same whether or not it has.
    Result<std::shared_ptr<OutboundStream>> open_now(const wire::Open& open);
    // As of LinkMachine.
    Result<void> send_sync(ByteView message);
    void close(wire::GoodbyeCode code, std::string message);
    void close_when_idle();
    void finish(bool broken);
    void set_background_priority() { transport_->set_background_priority(); }

    // For streams, which call update() after each command.
    LinkMachine& machine() { return machine_; }
    // Carries out what the machine reports, wakes the writer if there is something to write, and sets the timer.
    void update();

  private:
    Awaitable<Result<void>> secure();
    Awaitable<Result<void>> hear_hello();
    Awaitable<void> flush_hello();
    // False when the transport failed.
    Awaitable<bool> write(std::vector<OutgoingFrame> batch);
    Awaitable<void> read_loop();
    Awaitable<void> write_loop();
    Awaitable<void> timer_loop();

    void carry_out(StreamReady& ready);
    void carry_out(StreamOpened& opened);
    void carry_out(StreamAborted& aborted);
    void carry_out(SyncReceived& sync);
    void carry_out(GoodbyeReceived& received);
    void carry_out(ProtocolBroken& broken);
    void carry_out(PeerSilent& silent);
    void carry_out(LinkFinished& finished);

    std::shared_ptr<LinkContext> context_;
    std::unique_ptr<Transport> transport_;
    LinkMachine machine_;
    Signal work_;  // there is something to write
    Signal room_;  // the bulk lane has room, or never will
    bool writer_waits_ = false;
    bool updating_ = false;
    boost::asio::steady_timer timer_;
    TimePoint armed_for_ = time_never;
};

}  // namespace exa::io::link
