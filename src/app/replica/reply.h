// Reply: an answer on its way from the replica that makes it to whoever passes it on, which is the ingress or a link
// to it.
//
// The order is one head, then data, then one end. The reader pulls: an answer is rendered when somebody takes it, so
// what waits for a slow reader are tokens; and what is ready in one iteration of the event loop is taken in it, without
// a coroutine, a timer or a buffer of the reply's own. All calls are made on the one executor that the reply belongs
// to.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "io/link/outbound_stream.h"

namespace exa::app::replica {

// Bytes that are passed on from where they are. Only answers to other peers' questions about KV have such parts.
struct SharedBytes {
    ByteView bytes;  // of one frame: less than 1 MiB
    std::shared_ptr<const void> owner;
};

using ReplyPart = std::variant<wire::Head, wire::Data, wire::End, SharedBytes>;

class ReplyReader {
  public:
    // The work behind the reply stops soon, as after cancel().
    virtual ~ReplyReader() = default;

    // The next part when it is there, nothing while there is none. Errors: io::errc::broken and its like, when whoever
    // makes the answer went away without an end; cancelled after cancel(); closed after the end.
    virtual std::optional<Result<ReplyPart>> poll() = 0;
    // Called, possibly for nothing, when poll() may have an answer again after it had none; it must do no more than
    // wake whoever polls. Replaces the handler set before.
    virtual void on_ready(std::function<void()> handler) = 0;
    // The work behind the reply stops soon. Idempotent.
    virtual void cancel() = 0;
};

// The dialler's side of a link's stream.
std::shared_ptr<ReplyReader> reply_of(std::shared_ptr<io::link::OutboundStream> stream);

// An answer that is known already.
std::shared_ptr<ReplyReader> reply_of(std::vector<ReplyPart> parts);

}  // namespace exa::app::replica
