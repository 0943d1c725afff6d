// ReplicaTracker: what one ingress knows of every replica: its load, and why it should be left alone for the moment.
//
// Load is what the replica last reported plus what this ingress has sent it since, so that an idle replica stops
// looking idle at once and not a second later. A report that came by gossip was measured some time ago, and which of
// our own requests it had counted is not known; only that these were at least the fewest and at most the most in flight
// since the report before. Where requests spread, the load is taken high, so that they do not pile up; whether a
// replica is full is judged by the low estimate, so that no request goes elsewhere while there is room.
//
// Beside requests, waiting prompts, memory and late tokens count (load_score.h), and what this ingress has sent of
// prompts that have not begun to be answered. A replica that joins a pool is ramped up (slow start).
//
// What a decision reads of the view is copied here, where it lies together.
//
// A replica is named by its index in the view's replicas().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/breaker.h"
#include "base/endpoint.h"
#include "base/ids.h"
#include "base/time.h"
#include "router/config.h"
#include "router/load_score.h"
#include "router/routing_view.h"

namespace exa::router {

// Best first. Those up to `suspect` may be sent to, each only when there is no better one.
enum class Eligibility : std::uint8_t {
    good,
    above_bound,  // one more request would put it above the bounded load
    looks_full,   // at its limit by the high estimate, or by a report that is no longer fresh
    suspect,      // of being down, by the membership
    full,         // at its limit
    draining,
    link_broken,   // our own link to its peer failed a moment ago
    refused,       // it refused a request of ours a moment ago (draining, another version)
    breaker_open,  // it failed several times in a row
};

constexpr bool is_usable(Eligibility eligibility) {
    return eligibility <= Eligibility::suspect;
}

std::string_view to_string(Eligibility eligibility);

// From this ingress.
enum class Distance : std::uint8_t { rack, region, far };

std::string_view to_string(Distance distance);

// What the end of an attempt says about the replica's health.
enum class HealthSignal : std::uint8_t { none, success, failure };

class ReplicaTracker {
  public:
    static constexpr std::uint32_t no_replica = ~std::uint32_t{0};

    explicit ReplicaTracker(const Config& config);
    void set_config(const Config& config) { config_ = config; }

    // Adopts the view's replicas and loads; what is known of replicas that stay is kept. Returns, when indices changed,
    // the new index of each old one (no_replica for those that left); empty when none did.
    std::vector<std::uint32_t> handle_view(const RoutingView& view);

    // Requests in flight there, of all ingresses; the high estimate.
    std::uint32_t load(std::uint32_t replica) const { return replicas_[replica].in_flight.high(); }
    // The same with all that loads a replica, in hundredths of a request.
    std::uint32_t load_score(std::uint32_t replica) const { return replicas_[replica].load_score; }
    LoadFactors factors(std::uint32_t replica) const { return replicas_[replica].factors(); }
    // What one more request would make of it, in proportion to the replica's weight, its limit, and how long it has
    // been there: for comparing two of a pool.
    std::uint64_t projected_load(TimePoint now, std::uint32_t replica) const;
    // Thousandths of a full share that it gets; 1000 except during slow start.
    std::uint32_t share_permille(TimePoint now, std::uint32_t replica) const;
    Distance distance(std::uint32_t replica) const { return replicas_[replica].distance; }
    std::uint32_t own(std::uint32_t replica) const { return replicas_[replica].in_flight.own; }
    std::uint32_t weight(std::uint32_t replica) const { return replicas_[replica].weight; }
    // What it admits at present, as far as is known. 0: unknown.
    std::uint32_t limit(std::uint32_t replica) const { return replicas_[replica].limit; }
    // Requests that wait there for a permit: those reported, and ours since.
    std::uint32_t queued(std::uint32_t replica) const { return replicas_[replica].report.queued; }
    const ReplicaId& id(std::uint32_t replica) const { return replicas_[replica].profile.id; }
    const Endpoint& link(std::uint32_t replica) const { return replicas_[replica].profile.link; }  // of its peer
    bool is_local(std::uint32_t replica) const { return replicas_[replica].local; }
    std::uint64_t numerics(std::uint32_t replica) const {
        return replicas_[replica].profile.numerics;
    }  // hash; 0: none declared
    std::uint32_t context_tokens(std::uint32_t replica) const {
        return replicas_[replica].profile.context_tokens;
    }  // 0: unknown

    // max(load_floor, ceil(load_factor x mean)) of its pool with one more request, in proportion to its weight; of the
    // load_score, in whole requests.
    std::uint32_t bound(std::uint32_t replica) const;
    // The pool's mean load_score in proportion to the replica's weight, rounded up to whole requests.
    std::uint32_t mean(std::uint32_t replica) const;
    Eligibility eligibility(TimePoint now, std::uint32_t replica) const;
    // These two also where its eligibility says something else: full, say, or a broken link.
    // Also of a replica elsewhere while this peer is cut off.
    bool is_suspect(std::uint32_t replica) const {
        return replicas_[replica].suspect || (is_cut_off_ && !replicas_[replica].local);
    }
    bool is_breaker_open(TimePoint now, std::uint32_t replica) const { return !replicas_[replica].breaker.allows(now); }

    // Slow starts of the last view begin now; called before anything is chosen.
    void handle_time(TimePoint now);

    // A request was sent there, which may wait for a permit; of `prompt_tokens`, about. True when it is the trial
    // of a half-open breaker, to be handed to end().
    bool start(TimePoint now, std::uint32_t replica, bool waits = false, std::uint32_t prompt_tokens = 0);
    // `prompt_tokens` of one that was not answered().
    void end(TimePoint now, std::uint32_t replica, HealthSignal health, bool trial, std::uint32_t prompt_tokens = 0);
    // The first byte of an answer: the replica is healthy, the request not ended.
    void answered(std::uint32_t replica, std::uint32_t prompt_tokens = 0);

    void handle_busy(TimePoint now, std::uint32_t replica);
    void handle_refused(TimePoint now, std::uint32_t replica);
    void handle_load(TimePoint now, std::uint32_t replica, const wire::LoadReport& load);
    void handle_peer_broken(TimePoint now, PeerId peer);
    void handle_peer_ok(PeerId peer);
    void handle_replica_ok(std::uint32_t replica);

  private:
    // Requests in flight there, of all ingresses, from the last report and what was sent since.
    struct InFlight {
        std::uint32_t reported = 0;  // of all ingresses
        std::uint32_t own = 0;       // of this ingress, now
        // How many of our own the report had counted: at least, at most.
        std::uint32_t own_reported_min = 0;
        std::uint32_t own_reported_max = 0;

        std::uint32_t high() const { return estimate(own_reported_min); }
        std::uint32_t low() const { return estimate(own_reported_max); }
        std::uint32_t estimate(std::uint32_t own_reported) const;
    };
    // Until when it is passed over, for what this ingress met there.
    struct Backoff {
        TimePoint link_until{};
        TimePoint refused_until{};
        TimePoint full_until{};
    };
    // Of the last report, beside requests.
    struct Report {
        std::optional<TimePoint> measured;
        std::uint32_t queued_tokens = 0;
        std::uint32_t queued = 0;
        std::uint16_t kv_used_permille = 0;
        std::uint16_t tbt_p99_ms = 0;
    };
    // What the view says of it and a decision does not read.
    struct Profile {
        ReplicaId id;
        std::uint64_t numerics = 0;
        std::uint32_t context_tokens = 0;
        std::uint32_t limit_recorded = 0;  // by its record; the limit moves below it
        Endpoint link;
    };
    // In the order of how often a decision reads it: the first cache line says whether and how well a replica takes a
    // request.
    struct alignas(64) Replica {
        std::uint32_t pool = 0;  // index into pools_
        std::uint32_t weight = 1;
        std::uint32_t limit = 0;
        std::uint32_t load_score = 0;  // of factors()
        InFlight in_flight;
        bool suspect = false;
        bool draining = false;
        bool local = false;
        bool peer_backed_off = false;  // its peer is in broken_
        bool was_seen = false;
        bool in_slow_start = false;  // it joined a pool of others
        Distance distance = Distance::rack;
        Backoff backoff;

        Breaker breaker;
        std::uint32_t own_since_min = 0;  // of our own in flight since the report: the fewest, the most
        std::uint32_t own_since_max = 0;
        std::uint32_t own_tokens = 0;  // of prompts that we sent, whose answers have not begun
        Report report;
        Profile profile;
        std::optional<TimePoint> slow_start_since{};

        LoadFactors factors() const;
    };
    struct PoolSum {
        std::uint64_t load_score = 0;
        std::uint64_t weight = 0;
    };
    struct BrokenPeer {
        PeerId peer;
        Duration backoff;
        TimePoint until;
        bool trying;  // one request was let through since
    };

    std::vector<std::uint32_t> adopt_layout(const RoutingView& view);
    void begin_slow_start(const Pool& pool, std::uint32_t joined);
    void adopt_loads(const membership::PeerLoads& loads);
    // `exact`: the report is of this moment, and has counted all that is in flight now.
    void adopt(std::uint32_t replica, const wire::LoadReport& report, TimePoint measured, bool exact);
    // Its replicas are passed over until the link is tried again.
    void back_off(const BrokenPeer& broken);
    template <class Change>
    void update(Replica& replica, Change&& change);

    Config config_;
    std::shared_ptr<const RoutingView::Layout> layout_;
    membership::LoadList loads_;  // adopted last
    std::vector<Replica> replicas_;
    std::vector<PoolSum> pools_;
    std::vector<BrokenPeer> broken_;
    bool is_cut_off_ = false;   // this peer
    bool has_undated_ = false;  // some slow start has no time yet
};

}  // namespace exa::router
