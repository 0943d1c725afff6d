// Entry: the client's side of a request. It reads just enough of the body to route it, forwards the original bytes to a
// replica here or on another peer, relays what comes back, and goes elsewhere when that fails (app/door/journey.h).
//
// A stream that breaks under way goes on at another replica of the same numerics: the entry made the seed and the ids,
// and it kept the token ids (docs/decisions/0004-answers-are-rendered-at-the-target.md).
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/list.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "app/access/gate.h"
#include "app/door/journey.h"
#include "app/door/serving.h"
#include "app/door/turn.h"
#include "app/shared/shared_view.h"
#include "io/clock/system_clock.h"
#include "io/http/server.h"
#include "io/link/link.h"
#include "router/dispatcher.h"

namespace exa::app {

// Says of which model a request is to an entry that does not read bodies.
inline constexpr std::string_view model_header = "x-model";

struct EntryConfig {
    // From the request to the answer's head: prefill of a long prompt and the wait for a place in the batch.
    Duration first_byte_timeout = std::chrono::seconds(120);
    // Between two pieces of an answer. There is no limit on the whole.
    Duration idle_timeout = std::chrono::seconds(60);
    // How long a stream may be silent on a peer that is suspected of being down, before it goes on elsewhere.
    Duration suspect_timeout = std::chrono::milliseconds(300);
    // Requests are not read: the model is that of model_header, or the only one, the session that of x-session-id.
    bool hash_only = false;
    // What a request must carry in x-exaserve-warm-up, before a space and a replica's id, to reach a replica of this
    // peer that is not ready yet. Random, known to this process alone.
    std::string warm_up_secret;
};

// Belongs to one data-plane thread, like everything it refers to; all of that outlives it.
class Entry {
  public:
    Entry(const EntryConfig& config, Gate& gate, router::Dispatcher& dispatcher, io::LinkPool& links, Serving& serving,
          ViewReader& view, const io::SystemClock& clock, Turn& turn, const boost::asio::any_io_executor& executor);

    // Goes away when every request that was handled before this call is answered; later ones are not waited for.
    std::weak_ptr<const void> close_epoch() { return std::exchange(epoch_, std::make_shared<Epoch>()); }
    // Requests that ended in a 5xx, or broke in the middle.
    std::uint64_t failed() const { return parts_.failed; }
    // Of clients' headers, which no server sees.
    std::uint64_t fields_left_out() const { return fields_left_out_; }
    // Called when a request has ended that a replica was asked for.
    void on_end(std::function<void()> handler) { parts_.on_end = std::move(handler); }

    // Answers one request for an answer of a model, whatever happens.
    void handle(io::HttpRequest request, std::shared_ptr<io::HttpExchange> exchange, wire::RequestKind kind,
                Caller caller);

  private:
    struct Epoch {};
    using Journeys = boost::intrusive::list<Journey, boost::intrusive::constant_time_size<false>>;

    void sweep_later();

    JourneyParts parts_;
    const bool hash_only_;
    const std::string warm_up_secret_;
    std::shared_ptr<const Epoch> epoch_ = std::make_shared<Epoch>();
    Journeys journeys_;  // those under way
    boost::asio::steady_timer sweep_;
    bool sweeping_ = false;
    std::uint64_t fields_left_out_ = 0;
};

}  // namespace exa::app
