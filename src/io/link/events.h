// What a link machine reports (LinkMachine::poll_event), and what its parts share.
#pragma once

#include <memory>
#include <variant>

#include "base/bytes.h"
#include "base/fifo.h"
#include "base/ids.h"
#include "base/result.h"
#include "io/link/config.h"
#include "io/link/lanes.h"
#include "io/link/stream_state.h"
#include "wire/link_messages.h"

namespace exa::io::link {

// poll() may have an answer again after it had none (outbound), or has_room() a better one (inbound).
struct StreamReady {
    std::shared_ptr<StreamState> stream;
};
// The other side opened a stream. If nobody takes it, it is to be ended.
struct StreamOpened {
    std::shared_ptr<InboundState> stream;
    std::unique_ptr<wire::Open> open;
};
// Nobody reads the answer any more: the dialler cancelled, or the link finished.
struct StreamAborted {
    std::shared_ptr<InboundState> stream;
};
struct SyncReceived {
    Bytes message;
};
struct GoodbyeReceived {
    wire::Goodbye goodbye;
};
// The other side sent what it must not; a goodbye that says so is on its way if it had said hello.
struct ProtocolBroken {
    Error why;
};
// Pings went unanswered; Finished follows.
struct PeerSilent {};
// The last event. `broken`: after the hellos, without a goodbye from either side. The connection is to be closed.
struct LinkFinished {
    bool broken = false;
};

using LinkEvent = std::variant<StreamReady, StreamOpened, StreamAborted, SyncReceived, GoodbyeReceived, ProtocolBroken,
                               PeerSilent, LinkFinished>;

// What the parts of one machine share.
struct LinkCommon {
    const LinkConfig& config;
    LinkStats& stats;
    PeerId peer{};  // at the other end, once it has said hello
    Lanes lanes{};
    Fifo<LinkEvent> events{};

    bool has_room() const { return lanes.bulk_bytes() < config.write_queue_bytes; }
};

}  // namespace exa::io::link
