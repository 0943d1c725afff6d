// Request: one client request at its ingress, over all its attempts, until the client has its answer or is gone.
//
// Pure: time is an argument, and what is to be done comes out as actions (gateway/action.h). In what order:
//
//   start ──> OpenLocal | OpenStream ──handle_opened──> handle_head, handle_data ..., handle_end
//                 ^                  └─handle_open_failed                  │
//                 └───────────── Cancel, the next attempt ─────────────────┤
//                                                                          └──> SendError | SendEnd | nothing, Done
//
// Events carry the number of their attempt; one about an attempt that is over, and anything after Done, changes
// nothing. The dispatcher must know the newest view before an event that may end an attempt: all but handle_head and
// handle_data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "gateway/action.h"
#include "gateway/config.h"
#include "gateway/outcome.h"
#include "gateway/response_forwarder.h"
#include "router/dispatcher.h"
#include "wire/link_messages.h"

namespace exa::gateway {

// What the router wants to know of a request beside what travels with it. The view needs to live only for the call.
struct RoutingHints {
    WallTime wall{};                             // for the session token
    std::string_view session{};                  // a token or the client's own id; empty: none
    std::optional<std::uint64_t> prefix_hash{};  // of the prompt's leading blocks
    std::uint32_t prompt_tokens = 0;             // an estimate; 0: unknown
    std::uint64_t fingerprint = 0;               // equal when a client asks again; 0: unknown
};

// Why a stream to a peer could not be opened.
enum class OpenFailure : std::uint8_t {
    connect_failed,  // the peer is out of reach
    link_broken,     // the link broke while it opened
    too_large,       // the request does not fit a frame
    local_limit,     // a bound of this peer, which says nothing about the other one
};

class Request {
  public:
    // `open` is what every attempt sends, but for what depends on the replica. The others outlive the request.
    Request(const Config& config, router::Dispatcher& dispatcher, wire::Open open)
        : config_(config), dispatcher_(dispatcher), open_(std::move(open)), forwarder_(config.mutant) {}

    // What the current attempt sends; valid until the next one.
    const wire::Open& open() const { return open_; }
    const router::Attempt& attempt() const { return attempt_; }
    AttemptNumber attempt_number() const { return number_; }
    // The client has been sent a head.
    bool started() const { return forwarder_.started(); }
    bool done() const { return state_ == State::done; }
    // How the last attempt that ended did; `finished` before the first end.
    Outcome last_outcome() const { return last_outcome_; }
    // When handle_timeout is due; time_never while no silence counts.
    TimePoint next_timeout() const;

    // Begins, with one of these: at a replica that the dispatcher chooses, or at this one of this very peer and no
    // other.
    void start(TimePoint now, const RoutingHints& hints, Actions& actions);
    void start_at(ReplicaId replica, Actions& actions);

    void handle_opened(AttemptNumber attempt);
    void handle_open_failed(TimePoint now, AttemptNumber attempt, OpenFailure failure, std::string why,
                            Actions& actions);
    void handle_head(TimePoint now, AttemptNumber attempt, wire::Head head, Actions& actions);
    void handle_data(TimePoint now, AttemptNumber attempt, wire::Data data, Actions& actions);
    void handle_end(TimePoint now, AttemptNumber attempt, wire::End end, Actions& actions);
    // The reply broke off without an end.
    void handle_broken(TimePoint now, AttemptNumber attempt, std::string why, Actions& actions);
    // All of the reply so far was handled, or the stream is being opened, and the client keeps up: from now on the
    // replica's silence counts.
    void handle_drained(TimePoint now);
    // The client does not keep up: no silence counts until the next part or handle_drained.
    void handle_client_slow() { silent_since_.reset(); }
    void handle_client_gone(TimePoint now, Actions& actions);
    void handle_timeout(TimePoint now, Actions& actions);

  private:
    enum class State : std::uint8_t { idle, opening, replying, done };

    bool is_current(AttemptNumber attempt, State state) const { return state_ == state && attempt == number_; }
    template <class Part>
    void take(TimePoint now, AttemptNumber attempt, Part part, Actions& actions);
    bool should_leave(TimePoint now);
    Duration look_period() const { return started() ? config_.suspect_timeout : config_.suspect_timeout / 4; }
    void follow(router::Decision decision, Actions& actions);
    void begin_attempt(router::Attempt attempt, Actions& actions);
    // Ends the current attempt.
    void conclude(TimePoint now, Outcome outcome, Actions& actions);
    // Tells the dispatcher how it ended. Nothing: so has the request.
    std::optional<router::Decision> report(TimePoint now, Outcome outcome);
    void reject(router::Reject reject, Actions& actions);
    void break_off(const router::Broken& broken, Actions& actions);
    void finish(bool failed, Actions& actions);

    const Config& config_;
    router::Dispatcher& dispatcher_;
    wire::Open open_;
    ResponseForwarder forwarder_;
    router::Attempt attempt_;
    AttemptNumber number_ = 0;
    State state_ = State::idle;
    Outcome last_outcome_ = Outcome::finished;
    bool dispatched_ = true;  // the dispatcher chose the replica
    bool heard_ = false;      // a part of the current attempt's reply has come
    std::optional<TimePoint> silent_since_;
    TimePoint next_look_{};                   // at whether the peer is in doubt
    std::optional<TimePoint> doubted_since_;  // seen by a look
};

}  // namespace exa::gateway
