// ReplicaTracker: what one ingress knows of every replica: its load, and why it should be left alone for the moment.
//
// Load is what the replica last reported plus what this ingress has sent it since, so that an idle replica stops
// looking idle at once and not a second later. A report that came by gossip was measured some time ago, and which of
// our own requests it had counted is not known; only that these were at least the fewest and at most the most in flight
// since the report before. Where requests spread, the load is taken high, so that they do not pile up; whether a
// replica is full is judged by the low estimate, so that nobody is turned away while there is room.
//
// Beside requests, waiting prompts, memory and late tokens count (load_score.h), and what this ingress has sent of
// prompts that have not begun to be answered. A replica that joins a pool gets its share of it by and by.
//
// What a decision reads of the view is copied here, where it lies together.
//
// A slot is an index into the view's replicas().
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
    refused,       // it sent a request of ours away a moment ago
    breaker_open,  // it failed several times in a row
};

constexpr bool is_usable(Eligibility eligibility) {
    return eligibility <= Eligibility::suspect;
}

std::string_view to_string(Eligibility eligibility);

// From this ingress.
enum class Distance : std::uint8_t { rack, region, far };

std::string_view to_string(Distance distance);

// How an attempt ended, as far as the replica's health goes.
enum class Verdict : std::uint8_t { none, good, bad };

class ReplicaTracker {
  public:
    static constexpr std::uint32_t no_slot = ~std::uint32_t{0};

    explicit ReplicaTracker(const Config& config);
    void set_config(const Config& config) { config_ = config; }

    // Adopts the view's replicas and loads; what is known of replicas that stay is kept. Returns, when slots moved, the
    // new slot of each old one (no_slot for those that left); empty when none did.
    std::vector<std::uint32_t> handle_view(const RoutingView& view);

    // Requests in flight there, of all ingresses; the high estimate.
    std::uint32_t load(std::uint32_t slot) const { return slots_[slot].load(); }
    // The same with all that loads a replica, in hundredths of a request.
    std::uint32_t load_score(std::uint32_t slot) const { return slots_[slot].load_score; }
    LoadFactors factors(std::uint32_t slot) const { return slots_[slot].factors(); }
    // What one more request would make of it, in proportion to the replica's weight, its limit, and how long it has
    // been there: for comparing two of a pool.
    std::uint64_t projected_load(TimePoint now, std::uint32_t slot) const;
    // What it gets of its share, in thousandths; 1000 but while it is new.
    std::uint32_t share_permille(TimePoint now, std::uint32_t slot) const;
    Distance distance(std::uint32_t slot) const { return slots_[slot].distance; }
    std::uint32_t own(std::uint32_t slot) const { return slots_[slot].own; }
    std::uint32_t weight(std::uint32_t slot) const { return slots_[slot].weight; }
    // What it admits at present, as far as is known. 0: unknown.
    std::uint32_t limit(std::uint32_t slot) const { return slots_[slot].limit; }
    // Requests that wait there for a permit: those reported, and ours since.
    std::uint32_t queued(std::uint32_t slot) const { return slots_[slot].queued; }
    const ReplicaId& id(std::uint32_t slot) const { return slots_[slot].id; }
    const Endpoint& link(std::uint32_t slot) const { return slots_[slot].link; }  // of its peer
    bool is_local(std::uint32_t slot) const { return slots_[slot].local; }
    std::uint64_t numerics(std::uint32_t slot) const { return slots_[slot].numerics; }  // hash; 0: none declared
    std::uint32_t context_tokens(std::uint32_t slot) const { return slots_[slot].context_tokens; }  // 0: unknown

    // max(load_floor, ceil(load_factor x mean)) of its pool with one more request, in proportion to its weight; of the
    // load_score, in whole requests.
    std::uint32_t bound(std::uint32_t slot) const;
    // The pool's mean load_score in proportion to the slot's weight, rounded up to whole requests.
    std::uint32_t mean(std::uint32_t slot) const;
    Eligibility eligibility(TimePoint now, std::uint32_t slot) const;
    // Also where its eligibility says something else: a broken link, say.
    bool is_breaker_open(TimePoint now, std::uint32_t slot) const { return !slots_[slot].breaker.allows(now); }

    // From when on replicas that came with the last view are new; called before anything is chosen.
    void handle_time(TimePoint now);

    // A request was sent there, which may wait for a place; of `prompt_tokens`, about. True when it is its breaker's
    // probe, to be handed to end().
    bool start(TimePoint now, std::uint32_t slot, bool waits = false, std::uint32_t prompt_tokens = 0);
    // `prompt_tokens` of one that was not answered().
    void end(TimePoint now, std::uint32_t slot, Verdict verdict, bool probe, std::uint32_t prompt_tokens = 0);
    // The first byte of an answer: well, but not ended.
    void answered(std::uint32_t slot, std::uint32_t prompt_tokens = 0);

    void handle_busy(TimePoint now, std::uint32_t slot);
    void handle_refused(TimePoint now, std::uint32_t slot);
    void handle_load(TimePoint now, std::uint32_t slot, const wire::LoadReport& load);
    void handle_peer_broken(TimePoint now, PeerId peer);
    void handle_peer_ok(PeerId peer);
    void handle_slot_ok(std::uint32_t slot);

  private:
    // In the order of how often a decision reads it: the first cache line says whether and how well a replica takes a
    // request.
    struct alignas(64) Slot {
        std::uint32_t pool = 0;  // index into pools_
        std::uint32_t weight = 1;
        std::uint32_t limit = 0;
        std::uint32_t load_score = 0;  // of factors()
        std::uint32_t reported = 0;
        std::uint32_t own = 0;
        std::uint32_t counted_least = 0;  // of our own, by the report
        std::uint32_t counted_most = 0;
        bool suspect = false;
        bool draining = false;
        bool local = false;
        bool link_doubted = false;  // its peer is in broken_
        bool was_seen = false;
        bool is_new = false;  // it joined a pool of others
        Distance distance = Distance::rack;
        TimePoint link_until{};
        TimePoint refused_until{};
        TimePoint full_until{};

        Breaker breaker;
        std::uint32_t own_least = 0;  // since the report
        std::uint32_t own_most = 0;
        std::uint32_t own_tokens = 0;  // of prompts that we sent, whose answers have not begun
        std::uint32_t queued_tokens = 0;
        std::uint32_t queued = 0;
        std::uint16_t kv_used_permille = 0;
        std::uint16_t tbt_p99_ms = 0;

        ReplicaId id;
        std::uint64_t numerics = 0;
        std::uint32_t context_tokens = 0;
        std::uint32_t limit_recorded = 0;  // by its record; the limit moves below it
        std::optional<TimePoint> measured;
        std::optional<TimePoint> since{};  // when it was first seen, of a new one
        Endpoint link;

        std::uint32_t load() const { return load_if(counted_least); }
        LoadFactors factors() const;
        std::uint32_t load_low() const { return load_if(counted_most); }
        std::uint32_t load_if(std::uint32_t own_counted) const;
    };
    struct PoolSum {
        std::uint64_t load_score = 0;
        std::uint64_t weight = 0;
    };
    struct BrokenPeer {
        PeerId peer;
        Duration backoff;
        TimePoint until;
        bool probing;
    };

    std::vector<std::uint32_t> adopt_layout(const RoutingView& view);
    void mark_new(const Pool& pool, std::uint32_t joined);
    void adopt_loads(const membership::PeerLoads& loads);
    // `exact`: the report is of this moment, and has counted all that is in flight now.
    void adopt(std::uint32_t slot, const wire::LoadReport& report, TimePoint measured, bool exact);
    void hold_peer(const BrokenPeer& broken);
    template <class Change>
    void update(Slot& slot, Change&& change);

    Config config_;
    std::shared_ptr<const RoutingView::Layout> layout_;
    membership::LoadList loads_;  // adopted last
    std::vector<Slot> slots_;
    std::vector<PoolSum> pools_;
    std::vector<BrokenPeer> broken_;
    bool has_unseen_ = false;  // new slots without a time
};

}  // namespace exa::router
