// Entry: the client's side of a request. It reads just enough of the body to route it, forwards the original bytes to a
// replica here or on another peer, relays what comes back, and goes elsewhere when that fails.
//
// A stream that breaks under way goes on at another replica of the same numerics: the entry made the seed and the ids,
// and it kept the token ids (docs/decisions/0004-answers-are-rendered-at-the-target.md).
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "app/gate.h"
#include "app/relay.h"
#include "app/serving.h"
#include "app/shared_view.h"
#include "io/clock/system_clock.h"
#include "io/http/server.h"
#include "io/link/link.h"
#include "router/dispatcher.h"

namespace exa::app {

struct EntryConfig {
    // From the request to the answer's head: prefill of a long prompt and the wait for a place in the batch.
    Duration first_byte_timeout = std::chrono::seconds(120);
    // Between two pieces of an answer. There is no limit on the whole.
    Duration idle_timeout = std::chrono::seconds(60);
    // How long a stream may be silent on a peer that is suspected of being down, before it goes on elsewhere.
    Duration suspect_timeout = std::chrono::milliseconds(300);
    // Requests are not read: the model is that of x-model, or the only one, the session that of x-session-id.
    bool hash_only = false;
    // What a request must carry in x-exaserve-warm-up, before a space and a replica's id, to reach a replica of this
    // peer that is not ready yet. Random, known to this process alone.
    std::string warm_up_secret;
};

// Belongs to one data-plane thread, like everything it refers to; all of that outlives it.
class Entry {
  public:
    Entry(EntryConfig config, Gate& gate, router::Dispatcher& dispatcher, io::LinkPool& links, Serving& serving,
          const SharedView& shared, const io::SystemClock& clock)
        : config_(std::move(config)),
          gate_(gate),
          dispatcher_(dispatcher),
          links_(links),
          serving_(serving),
          shared_(shared),
          clock_(clock) {}

    // Goes away when every request that was handled before this call is answered; later ones are not waited for.
    std::weak_ptr<const void> close_epoch() { return std::exchange(epoch_, std::make_shared<Epoch>()); }
    // Requests that ended in a 5xx, or broke in the middle.
    std::uint64_t failed() const { return failed_; }

    // Answers one request for an answer of a model, whatever happens.
    boost::asio::awaitable<void> handle(io::HttpRequest request, std::shared_ptr<io::HttpExchange> exchange,
                                        wire::RequestKind kind, Caller caller);

  private:
    struct Epoch {};

    boost::asio::awaitable<Outcome> attempt(Relay& relay, router::Attempt attempt);
    boost::asio::awaitable<Result<std::shared_ptr<ReplyReader>>> open(const router::Attempt& attempt, wire::Open open);
    // Tells the dispatcher how an attempt ended. Nothing: so has the request.
    std::optional<router::Decision> report(const Relay& relay, Outcome outcome);
    // By a replica of this peer, or not at all.
    boost::asio::awaitable<void> answer_here(Relay& relay, ReplicaId replica);

    EntryConfig config_;
    Gate& gate_;
    router::Dispatcher& dispatcher_;
    io::LinkPool& links_;
    Serving& serving_;
    const SharedView& shared_;
    const io::SystemClock& clock_;
    std::shared_ptr<const Epoch> epoch_ = std::make_shared<Epoch>();
    std::uint64_t failed_ = 0;
};

}  // namespace exa::app
