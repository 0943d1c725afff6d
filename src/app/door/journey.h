// Journey: one client's request under way at its entry, from attempt to attempt, until its client has the answer or is
// gone.
//
// No coroutine and no timer of its own: the reply wakes it through the thread's Turn, the client's connection tells it
// what the client does, and the entry's sweep looks at its deadline.
#pragma once

#include <boost/intrusive/list_hook.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/access/gate.h"
#include "app/door/relay.h"
#include "app/door/serving.h"
#include "app/door/turn.h"
#include "app/shared/shared_view.h"
#include "io/clock/system_clock.h"
#include "io/http/server.h"
#include "io/link/link.h"
#include "router/dispatcher.h"

namespace exa::app {

// What the journeys of one data-plane thread need. All of it outlives them.
struct JourneyParts {
    Gate& gate;
    router::Dispatcher& dispatcher;
    io::LinkPool& links;
    Serving& serving;
    ViewReader& view;
    const io::SystemClock& clock;
    Turn& turn;
    boost::asio::any_io_executor executor;
    // From the request to the answer's head: prefill of a long prompt and the wait for a place in the batch.
    Duration first_byte_timeout{};
    // Between two pieces of an answer. There is no limit on the whole.
    Duration idle_timeout{};
    // How long a stream may be silent on a peer that is suspected of being down, before it goes on elsewhere.
    Duration suspect_timeout{};
    std::function<void()> on_end{};  // of each
    std::uint64_t failed = 0;        // ended in a 5xx, or broke in the middle
};

using JourneyHook = boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

class Journey final : public Runnable,
                      public io::AnswerListener,
                      public JourneyHook,
                      public std::enable_shared_from_this<Journey> {
  public:
    using Clock = std::chrono::steady_clock;

    // `open` is what every attempt sends. `hold` is kept until the client has its answer.
    Journey(JourneyParts& parts, std::shared_ptr<io::HttpExchange> exchange, wire::Open open,
            std::shared_ptr<const void> hold);
    ~Journey() override;

    const wire::Open& open() const { return relay_.open(); }

    // Begins, with one of these. The first charges the tenant at the end.
    void go(router::Decision first);
    // By a replica of this peer, or not at all.
    void go_here(ReplicaId replica, bool charged);

    // Called now and then: acts on a silence that has lasted too long.
    void check(Clock::time_point now);

    void run() override;
    void client_left() override;
    void drained() override;

  private:
    // Calls `step`, then sees to a client who left meanwhile.
    template <class Step>
    void carefully(Step step);
    void follow(router::Decision decision);
    // Nothing: the attempt goes on.
    std::optional<Outcome> attempt(router::Attempt attempt);
    std::optional<Outcome> take_opened(Result<std::shared_ptr<io::LinkStream>> opened);
    std::optional<Outcome> take_reply(std::shared_ptr<ReplyReader> reply);
    std::optional<Outcome> take_parts();
    boost::asio::awaitable<void> open_later(std::uint32_t number);
    void conclude(Outcome outcome);
    // Tells the dispatcher how an attempt ended. Nothing: so has the request.
    std::optional<router::Decision> report(Outcome outcome);
    void refuse(router::Reject reject);
    void break_off(const router::Broken& broken);
    void drop_reply();
    void end();

    JourneyParts& parts_;
    std::shared_ptr<io::HttpExchange> exchange_;  // null: it is over
    const std::shared_ptr<const void> hold_;
    Relay relay_;
    std::shared_ptr<ReplyReader> reply_;  // null while there is none
    bool waits_ = false;                  // for the reply: a slow client is its connection's to judge
    Clock::time_point waits_since_;
    Clock::time_point next_look_;  // at whether the peer is suspected of being down
    Duration patience_{};
    std::uint32_t opening_ = 0;  // grows with every stream that is waited for
    bool placed_ = true;         // by the dispatcher
    bool charged_ = true;
    bool in_step_ = false;
    bool left_ = false;  // the client
};

}  // namespace exa::app
