// Traffic: clients, and their requests on the way through entry, link and replica. Each entry's dispatcher decides, as
// in app/door/entry; each replica enforces its own limit, as in app/door/serving.
//
// A request comes in at a peer, is tried on replicas, and ends exactly once. Between its steps it is an entry of a
// table; the time line holds only (table index, serial, step).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "router/answer_ledger.h"
#include "sim/checks/mutants.h"
#include "sim/checks/oracles.h"
#include "sim/cluster/cluster.h"
#include "sim/scenarios/scenario.h"

namespace exa::sim {

struct TrafficCounters {
    std::uint64_t requests = 0;
    std::uint64_t finished = 0;
    std::uint64_t rejected = 0;       // after the client's own retries
    std::uint64_t broken = 0;         // in the middle of a stream, by the entry
    std::uint64_t entry_lost = 0;     // its entry died in the middle of a stream
    std::uint64_t abandoned = 0;      // by the client
    std::uint64_t client_errors = 0;  // answered with an error of the client
    std::uint64_t refused = 0;        // attempts that a receiver sent away
    std::uint64_t sdk_retries = 0;
    std::uint64_t attempts = 0;
    std::uint64_t busy = 0;
    std::uint64_t waited = 0;   // attempts that waited for a place
    std::uint64_t resumed = 0;  // streams that went on at another replica
    std::uint64_t tokens = 0;
    std::vector<double> first_token_s;
    std::uint64_t failed() const { return rejected + broken; }
};

class Traffic {
  public:
    // All outlive it. Takes the cluster's events `arrival` and `step`.
    Traffic(const Scenario& scenario, Cluster& cluster, Oracles& oracles, Mutant mutant);

    void start();
    // No new requests from here on.
    void stop() { stopped_ = true; }
    // More than 1 is an overload, which ends with 1.
    void set_factor(double factor);
    // Clients of this share of the requests under way go away; how many.
    std::uint64_t disconnect(double share);

    std::uint64_t under_way() const { return requests_.size() - free_.size(); }
    // What must hold at the end: Q1, Q6 and B2.
    void check_end();
    const TrafficCounters& counters() const { return counters_; }

  private:
    enum class Step : std::uint8_t {
        come,     // client's side: to an entry
        enter,    // at the entry
        open,     // at the replica's peer
        produce,  // there: the next piece is ready
        expire,   // there: it has waited for a place as long as it might
        cancel,   // there: nobody wants the rest
        piece,    // at the entry: it has come
        end,      // at the entry: the answer, or the refusal, is complete
        failed,   // at the entry: no link
        look,     // at the entry: is the other end still there?
        gone,     // at the entry: the client went away
        patience  // client's side: is the entry still there?
    };
    enum class Code : std::uint8_t { ok, busy, draining, refused, no_place, client_error };
    enum class Ending : std::uint8_t { finished, rejected, broken, entry_lost, abandoned, client_error };

    // Tokens offset .. offset + count - 1 of an answer.
    struct Piece {
        std::uint32_t offset = 0;
        std::uint32_t count = 0;
    };

    struct Request {
        bool live = false;
        std::uint32_t serial = 0;  // grows with every attempt and every request in this slot
        std::uint32_t life = 0;    // grows with every request in this slot
        bool entered = false;      // its entry counts it
        Host entry = 0;
        std::uint32_t entry_boot = 0;
        std::optional<router::Attempt> attempt;
        Host target = 0;
        std::uint32_t target_boot = 0;
        Generation target_generation{};
        std::optional<std::uint32_t> place;
        std::string session;
        std::string model;
        bool erroneous = false;  // its content is wrong
        std::uint32_t prompt = 0;
        std::uint32_t answer = 0;
        std::uint32_t got = 0;  // tokens that the client has
        std::uint64_t seed = 0;
        router::AnswerLedger ledger{1};  // what the entry knows the client to have
        std::deque<Piece> coming;        // on the way from the current attempt's replica
        std::uint32_t pieces_due = 0;
        bool started = false;
        bool slow = false;
        std::uint32_t sdk_retries = 0;
        std::uint32_t silent_looks = 0;
        WorldTime born;
        WorldTime heard;
        WorldTime reply_at;  // the answer's bytes keep their order
        bool reply_dead = false;
        bool sent_lost = false;  // it went out on a link to a process that is gone
        Code code = Code::ok;
        std::optional<wire::LoadReport> load;
    };
    // A place in a replica's batch, or a request that waits for one. It outlives the entry's interest until word of
    // that arrives.
    struct Place {
        bool live = false;
        std::uint32_t serial = 0;
        Host host = 0;
        std::uint32_t boot = 0;
        std::uint16_t slot = 0;
        std::optional<engine::WaitTicket> ticket;  // while it waits
        std::uint32_t waiting = 0;                 // prompt tokens before prefill
        std::uint32_t next = 0;                    // token of the answer
        std::uint32_t left = 0;
        bool slow = false;  // its client reads slowly
        std::uint32_t request = 0;
        std::uint32_t request_serial = 0;
    };

    void arrive();
    void plan_arrival();
    void step(const Event& event);
    void plan(WorldTime at, Step step, std::uint32_t index, std::uint32_t serial, Host host, std::uint32_t boot);
    void come(std::uint32_t index);
    void enter(std::uint32_t index);
    void follow(std::uint32_t index, const router::Decision& decision);
    void attempt(std::uint32_t index, const router::Attempt& attempt);
    void open(std::uint32_t index);
    std::uint32_t make_place(std::uint32_t index);
    // Whether there is room for it in the queue.
    bool queue_up(std::uint32_t index, const Peer& peer, Replica& replica);
    void begin(std::uint32_t place);
    void produce(std::uint32_t place);
    // Ends a wait that was in vain.
    void turn_away(std::uint32_t place, Code code);
    void fill(Replica& replica);
    TimePoint queue_time() const;
    void reply(std::uint32_t index, Step step, std::size_t bytes);
    void piece(std::uint32_t index);
    // The client's side: what it got is what it lacked, and the right tokens.
    void check_piece(std::uint32_t index, const Piece& piece);
    void ended(std::uint32_t index);
    void fail(std::uint32_t index, router::Failure failure);
    void look(std::uint32_t index);
    void patience(std::uint32_t index);
    void client_gone(std::uint32_t index);
    void let_go(std::uint32_t index);
    // Until the next piece of a place is ready, and its client ready for it.
    Duration piece_time(const Place& place, const Replica& replica) const;
    void release(std::uint32_t place);
    void retry_later(std::uint32_t index, Duration wait, Ending otherwise);
    void leave_entry(Request& request);
    void end(std::uint32_t index, Ending ending);
    Peer* entry_of(const Request& request);
    // Of the replica of the request's attempt, at the entry's dispatcher; false when its view has none.
    bool is_breaker_open(const Peer& entry, const Request& request) const;
    // A report that is none about the replica's health opened no breaker.
    void check_breaker(const Request& request, bool was_open, std::string_view report);
    // Of the requests that came in [from, until): those whose first token came in time, as a part of those that count.
    std::optional<double> goodput(WorldTime from, WorldTime until) const;
    void check_recovery();

    struct Overload {
        WorldTime from;
        WorldTime until = world_never;
    };
    // Requests that came in one virtual second.
    struct Second {
        std::uint32_t came = 0;
        std::uint32_t good = 0;
    };

    const Scenario& scenario_;
    const Load& load_;
    Cluster& cluster_;
    Oracles& oracles_;
    Mutant mutant_;
    Rng arrivals_;
    Rng shapes_;
    Rng clients_;
    Rng disconnects_;
    Rng errors_;
    double factor_ = 1;
    std::uint32_t leaks_ = 0;
    std::vector<Overload> overloads_;
    std::vector<Second> seconds_;
    bool stopped_ = false;
    std::vector<std::string> tokens_;  // that sessions were given
    std::vector<Request> requests_;
    std::vector<std::uint32_t> free_;
    std::vector<Place> places_;
    std::vector<std::uint32_t> free_places_;
    TrafficCounters counters_;
};

}  // namespace exa::sim
