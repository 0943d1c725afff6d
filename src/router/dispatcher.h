// Dispatcher: where every request of one data-plane thread goes, and what happens when that fails. Pure; no clock, no
// sockets. A thread owns one; the simulator drives the same object.
//
// A request is begun once and ends exactly once. In between, the caller reports what the replica it was sent to does,
// and each report that ends an attempt is answered with the next Attempt or with the end of the request:
//
//   begin -> Attempt --handle_finished--------------------------------> (finished)
//     |        |  ^----handle_busy / handle_failed, another replica left
//     |        +--handle_client_gone----------------------------------> (abandoned)
//     |        +--handle_busy / handle_failed, none left -------------> Reject, or Broken once bytes had been sent
//     +-> Reject
//
// A request that meets a busy replica is tried at another. Only when every candidate is at its limit, by its own word
// or by what is known of it, an attempt may wait at its replica for a permit (Attempt::queue_wait). All waits of a
// request share one deadline, which comes the sooner the longer their client has been asking: who was refused before
// goes first.
//
// An attempt's id names that attempt alone: a late report about an earlier one, or about a request that has ended,
// changes nothing and is answered with Ignored.
//
// Which replica is chosen (docs/architecture.md, routing): a session goes to the ring owner of its position, unless
// that replica is above the bounded load, suspect, draining or excluded by this ingress's own experience; then to the
// next on the ring. A request without a session takes a warm replica for its prompt or the less loaded of two, and gets
// a session token minted inside that replica's arc.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/endpoint.h"
#include "base/result.h"
#include "base/rng.h"
#include "base/time.h"
#include "router/chooser.h"
#include "router/config.h"
#include "router/errc.h"
#include "router/explanation.h"
#include "router/refusal_memory.h"
#include "router/replica_tracker.h"
#include "router/retry_budget.h"
#include "router/routing_view.h"
#include "router/session.h"
#include "router/spill_map.h"

namespace exa::router {

// The views need to live only for the call.
struct RequestMeta {
    WallTime wall{};                             // for the session token
    std::string_view tenant{};                   // empty: anonymous
    std::string_view model{};                    // as the client names it
    std::string_view version{};                  // empty: any
    std::string_view role = "chat";              // "chat", "embed"
    std::string_view session{};                  // a token or the client's own id; empty: none
    std::optional<std::uint64_t> prefix_hash{};  // of the prompt's leading blocks
    std::uint32_t prompt_tokens = 0;             // about; 0: unknown
    std::uint32_t priority = 1;                  // 0 high, 1 normal, 2 low
    std::uint64_t fingerprint = 0;               // equal when a client asks again; 0: unknown
    bool resumable = false;                      // its stream can go on elsewhere, on a replica of equal numerics
};

struct AttemptId {
    std::uint64_t value = 0;
    auto operator<=>(const AttemptId&) const = default;
};

struct Attempt {
    AttemptId id;
    ReplicaId replica;
    PeerId peer;
    Endpoint link;       // of that peer
    bool local = false;  // the replica is this peer's own
    std::uint32_t number = 1;
    Reason reason = Reason::least_loaded;
    std::uint64_t position = 0;  // of the session on the ring
    Duration queue_wait{0};      // how long it may wait there for a permit; 0: it is to say busy at once
    std::uint64_t numerics = 0;  // of the replica, a hash: equal ones go on with one another's tokens; 0: none declared
    // For the response header when the session is minted here; empty when the client brought one, or has seen the
    // header already.
    std::string session_token{};
};

// The end of a request before any byte of an answer: send `status` and the error.
struct Reject {
    Error error;
    std::uint16_t status = 500;
    std::optional<Duration> retry_after{};  // set when trying again may help
};

// The end of a stream the client has already seen a part of: send an error event.
struct Broken {
    Error error;
};

// Nothing to do: the report was about an attempt that is over.
struct Ignored {};

using Decision = std::variant<Attempt, Reject, Broken, Ignored>;

enum class Failure : std::uint8_t {
    connect_failed,  // no link to the peer
    link_broken,     // the link, or the stream on it, broke
    timeout,         // no first byte, or an idle stream, for too long
    server_error,    // the replica answered with a failure of its own (5xx)
    draining,        // "not me": it takes no new requests
    refused,         // "not me": another model, version or tenant than the view said
    unfit,           // "not this request": it is too long there
    no_permit,       // it waited for a permit as long as it might
    suspect,         // silent, and its peer is suspect or dead
};

// What the membership holds against the peer of an attempt.
enum class PeerDoubt : std::uint8_t {
    none,
    suspect,  // or this peer is cut off
    dead,     // by now; also who left, or is not known any more
};

struct Counters {
    std::uint64_t begun = 0;
    std::uint64_t attempts = 0;
    std::uint64_t retries = 0;  // attempts behind the first of a request
    std::uint64_t busy_answers = 0;
    std::uint64_t failures = 0;
    std::uint64_t progress_credits = 0;  // streams that may be tried on as many replicas again
    // Ends: their sum and the requests in flight are `begun`.
    std::uint64_t finished = 0;
    std::uint64_t rejected = 0;
    std::uint64_t broken = 0;
    std::uint64_t abandoned = 0;
};

class Dispatcher {
  public:
    // `config` is valid (validate) and `tokens` outlives it. `rng` is salted by the caller (peer id and thread), so
    // that ingresses do not choose alike.
    Dispatcher(const Config& config, const SessionTokens& tokens, Rng rng);

    // Routes by these values from now on, except retry_ratio_percent, retry_burst, spill_entries and token_life, which
    // stay as they were. `config` is valid.
    void set_config(const Config& config);

    // The view to route by from now on. Cheap when it is the same one; in-flight counts, breakers and exclusions of
    // replicas that stay are kept.
    void handle_view(const std::shared_ptr<const RoutingView>& view);

    // An Attempt or a Reject. handle_view must have been called.
    Decision begin(TimePoint now, const RequestMeta& meta);

    // Reports about an attempt. `load` is what rode on the answer, if any did.
    void handle_accepted(AttemptId id);
    void handle_first_byte(AttemptId id);
    // The attempt gave so many tokens: enough of them, and its stream may be tried on as many replicas again.
    void handle_progress(AttemptId id, std::uint64_t tokens);
    // What the membership holds against the attempt's peer; `none` of an attempt that is over.
    PeerDoubt doubt(AttemptId id) const;
    // Whether a replica of a peer beyond doubt would take the request if this attempt failed now: then the caller does
    // not wait long at a peer that is in doubt.
    bool could_move(TimePoint now, AttemptId id) const;
    // The answer is complete, be it a client's error (4xx): those never count against the replica. False: ignored.
    bool handle_finished(TimePoint now, AttemptId id, const std::optional<wire::LoadReport>& load = std::nullopt);
    // The client went away; the caller cancels upstream. False: ignored.
    bool handle_client_gone(TimePoint now, AttemptId id);
    // The replica is at its limit: never a failure of it.
    Decision handle_busy(TimePoint now, AttemptId id, const std::optional<wire::LoadReport>& load = std::nullopt);
    Decision handle_failed(TimePoint now, AttemptId id, Failure failure);

    // Reports about peers: a link broke (its replicas are left alone for a while), or stands again.
    void handle_peer_broken(TimePoint now, PeerId peer) { tracker_.handle_peer_broken(now, peer); }
    void handle_peer_ok(PeerId peer) { tracker_.handle_peer_ok(peer); }
    // A load report that arrived on its own.
    void handle_load(TimePoint now, const wire::LoadReport& load);

    // What begin would do with `meta`, and why. Changes nothing.
    Result<Explanation> explain(TimePoint now, const RequestMeta& meta) const;

    const Counters& counters() const { return counters_; }
    std::size_t in_flight() const { return requests_.size() - free_.size(); }
    const ReplicaTracker& tracker() const { return tracker_; }

  private:
    static constexpr std::uint32_t no_replica = ReplicaTracker::no_replica;

    struct Request {
        std::uint32_t generation = 0;  // grows with every attempt; part of its id
        bool live = false;
        bool first_byte = false;  // the client has seen bytes
        bool resumable = false;
        bool mints_session = false;  // has none yet: every attempt mints one in its replica's arc
        bool trial = false;          // the attempt in flight is one of a half-open breaker
        std::uint32_t attempts = 0;
        std::uint32_t answered_busy = 0;      // bit i: tried[i] had no permit at once
        std::uint32_t losses = 0;             // attempts whose peer was out of reach; one by silence counts twice
        bool waits = false;                   // the attempt in flight does
        std::optional<TimePoint> wait_until;  // of all waits; nothing before the first
        std::uint32_t replica = no_replica;   // of the attempt in flight; no_replica when its replica left the view
        std::uint32_t prompt_tokens = 0;
        std::uint32_t prompt_tokens_min = 0;  // it was too long for a replica of one token less
        std::uint32_t unanswered_tokens = 0;  // of the prompt, while the attempt has not begun to answer
        std::uint32_t priority = 1;
        std::uint64_t pool = 0;      // hash
        std::uint64_t position = 0;  // of the session, brought or minted
        std::optional<std::uint64_t> prefix_hash;
        std::uint64_t numerics = 0;  // of the replica whose answer the client is seeing
        std::uint64_t fingerprint = 0;
        TimePoint asked;  // first, be it before this request
        Duration age{0};  // since then, when it came
        WallTime wall;
        std::string tenant;
        std::array<ReplicaId, attempts_limit> tried;
    };

    // The pool and the position of a request.
    struct Destination {
        const Pool* pool = nullptr;
        PositionSource source = PositionSource::none;
        std::uint64_t position = 0;
    };

    Result<Destination> locate(const RequestMeta& meta, std::uint64_t entropy) const;
    std::uint32_t open_request(TimePoint now, const RequestMeta& meta, const Destination& destination);
    // What an attempt needs; without a spill.
    Need need_of(TimePoint now, const Request& request, const Pool& pool) const;
    TimePoint wait_deadline(TimePoint now, const Request& request, const Pool& pool) const;
    // The next attempt, or the end for the reason of `last`. `must_wait`: at whatever replica has the shortest queue.
    Decision send(TimePoint now, std::uint32_t index, Error last, bool must_wait = false);
    // Why no replica of the pool takes the request, if `last` was not a failure.
    Error why_none(TimePoint now, const Pool& pool, const Need& need, Error last) const;
    // Among how many replicas a session that spills spreads (Spill::fan_out): fewer when its owner has room again, more
    // when the replica that it went to had none.
    void shrink_fan_out(TimePoint now, std::uint64_t spill, const Spill& last);
    void grow_fan_out(TimePoint now, const Request& request);
    Attempt make_attempt(std::uint32_t index, const Pool& pool, const Choice& choice);
    Decision retry(TimePoint now, std::uint32_t index, Error last, bool busy);
    Decision give_up(TimePoint now, std::uint32_t index, Error last);
    Reject make_reject(Error why);

    static bool can_go_on(const Request& request) {
        return !request.first_byte || (request.resumable && request.numerics != 0);
    }
    Request* find(AttemptId id);
    const Request* find(AttemptId id) const;
    void end_attempt(TimePoint now, Request& request, HealthSignal health);
    void end_request(std::uint32_t index);
    void handle_piggybacked(TimePoint now, std::uint32_t replica, const std::optional<wire::LoadReport>& load);

    Config config_;
    const SessionTokens& tokens_;
    Rng rng_;
    std::shared_ptr<const RoutingView> view_;
    ReplicaTracker tracker_;
    SpillMap spills_;
    RefusalMemory refusals_;
    RetryBudget budget_;
    Counters counters_;
    std::vector<Request> requests_;
    std::vector<std::uint32_t> free_;
};

}  // namespace exa::router
