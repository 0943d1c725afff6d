// Exchange: the protocol by which the KV services of a cluster share segments. What a peer lacks, it looks up at the
// owners and fetches; what it stores, it offers to them; what others offer, it accepts; and when the owners change, it
// repairs. Of the values of the Redis port, which change, it finds the last version.
//
// Sans-IO. Questions and answers are those of kv/messages.h; node::KvReplicator connects them to a transport. Polling
// order: handle_*() and commands at any time, then poll_output() until it is empty, then next_timeout().
//
// A question is answered by the call that belongs to its kind, or fails: handle_items, handle_segment once for each of
// its items in order, handle_outcomes; handle_failed at any time. After the last of these, and after a Drop, its id is
// unknown, and late answers change nothing.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/mutant.h"
#include "base/time.h"
#include "kv/chain_fetch.h"
#include "kv/fetch_cost.h"
#include "kv/holdings.h"
#include "kv/intake.h"
#include "kv/messages.h"
#include "kv/offer_queue.h"
#include "kv/placement.h"
#include "kv/recovery.h"
#include "kv/repair.h"
#include "kv/value_search.h"

namespace exa::kv {

// A fetch of a chain or of a value. Chosen by the caller, unique among the fetches under way.
struct FetchId {
    std::uint64_t value = 0;
    auto operator<=>(const FetchId&) const = default;
};

// A search for values. Chosen by the caller, unique among the searches under way.
struct FindId {
    std::uint64_t value = 0;
    auto operator<=>(const FindId&) const = default;
};

// A question of this peer. Chosen by the exchange, never twice.
struct AskId {
    std::uint64_t value = 0;
    auto operator<=>(const AskId&) const = default;
};

struct ExchangeConfig {
    ChainFetchConfig chain;
    OfferQueueConfig offers;
    IntakeConfig intake;
    RepairConfig repair;
    RecoveryConfig recovery;
    // For the answer to a lookup of a chain; an owner that has not answered by then has nothing.
    Duration lookup_timeout = std::chrono::milliseconds{200};
    // The same for a search for values. An owner that exceeds it is not asked for as long as `avoidance`, so that a
    // peer that hangs delays one search a second and not each.
    Duration find_timeout = std::chrono::milliseconds{200};
    Duration avoidance = std::chrono::seconds{1};
    // Searches at a time; further ones find nothing.
    std::size_t finds_max = 1024;
    // For a lookup in the cold tier.
    Duration cold_lookup_timeout = std::chrono::milliseconds{200};
    // Between two segments of a fetch for a client. Of a fetch for this peer's disk: without any byte of any such fetch
    // from that peer, so that segments get through a line on which one takes longer.
    Duration fetch_timeout = std::chrono::seconds{5};
    // For the answer to an offer, before which the other peer fetches and stores.
    Duration offer_timeout = std::chrono::seconds{60};
    // From the moment that offers were given up, or refused, to the next repair pass.
    Duration repass_after = std::chrono::seconds{60};
    Duration repass_after_refusal = std::chrono::minutes{10};
    Mutant mutant = Mutant::none;
};

class Exchange {
  public:
    // Open a stream to that peer and ask this.
    struct Send {
        AskId id;
        PeerId to;
        Question question;
    };
    // The rest of the answer is not needed.
    struct Drop {
        AskId id;
    };
    // A segment of a fetch; places (indices in the chain) ascend.
    struct Deliver {
        FetchId id;
        std::uint32_t place;
        SealedSegment segment;
        bool is_cold = false;  // this peer read it from the cold tier
    };
    // Every place below `prefix` was held or has been delivered.
    struct FetchOver {
        FetchId id;
        std::uint32_t prefix;
    };
    // Store this; handle_stored() follows.
    struct Store {
        Item item;
        SealedSegment segment;
    };
    // To an offer of another peer.
    struct Answer {
        OfferId id;
        std::vector<OfferOutcome> outcomes;
    };
    // A peer says that it has stored the item.
    struct Acked {
        PeerId by;
        Item item;
    };
    // A version of a value that this peer stores without owning it: the owners have it or a later one.
    struct Surplus {
        Item item;
    };
    // A verdict for each value, in order.
    struct Found {
        FindId id;
        std::vector<ValueVerdict> verdicts;
    };
    // Which of these are in the cold tier and worth reading? Answered like a lookup.
    struct LookupCold {
        AskId id;
        std::vector<SegmentKey> keys;
        FetchTerms terms;
    };
    // Read these from the cold tier. Answered like a fetch.
    struct ReadCold {
        AskId id;
        std::vector<SegmentKey> keys;
    };
    using Output =
        std::variant<Send, Drop, Deliver, FetchOver, Store, Answer, Acked, Surplus, Found, LookupCold, ReadCold>;

    // `holdings` outlives it.
    Exchange(PeerId self, const Holdings& holdings, const ExchangeConfig& config);

    void handle_placement(TimePoint now, std::shared_ptr<const Placement> placement);

    // Fetches what is missing of the chain `keys`: `held` says, place by place, what is here. Ends with a FetchOver.
    void fetch_chain(TimePoint now, FetchId id, std::vector<SegmentKey> keys, std::vector<bool> held,
                     const FetchTerms& terms = {});
    // Fetches one segment of this stamp or a later one from the first holder that has it. Delivers and ends like a
    // chain of one place.
    void fetch_value(TimePoint now, FetchId id, const Item& item, std::vector<PeerId> holders);
    // Ends either kind of fetch: no Deliver and no FetchOver follows.
    void cancel(TimePoint now, FetchId id);

    // Ends with a Found.
    void find(TimePoint now, FindId id, const std::vector<KnownValue>& values);

    // The disk has lost it: if this peer owns it, other peers are asked for it, and it ends in a Store.
    void recover(TimePoint now, const SegmentKey& key) { recovery_.handle_lost(now, key); }

    // Stored here, and new: it is offered to its owners.
    void add(TimePoint now, const Item& item);
    // Offers it to that peer whether or not it owns it. False when the queue for that peer is full.
    bool move(TimePoint now, PeerId to, const Item& item);

    // `question` is an offer or a move. Ends with an Answer, unless it is forgotten.
    void handle_offer(TimePoint now, OfferId id, PeerId from, const Question& question);
    void forget_offer(OfferId id) { intake_.forget(id); }

    void handle_items(TimePoint now, AskId id, std::span<const Item> items);
    // Verified by the caller, or null: not there, or not what was asked for.
    void handle_segment(TimePoint now, AskId id, SealedSegment segment);
    // Bytes of one or more fetches have come from that peer; call it at least once in a while as long as they do.
    void handle_progress(TimePoint now, PeerId from);
    void handle_outcomes(TimePoint now, AskId id, std::span<const OfferOutcome> outcomes);
    void handle_failed(TimePoint now, AskId id);
    void handle_stored(TimePoint now, const Item& item, OfferOutcome outcome);

    void handle_timeout(TimePoint now);
    TimePoint next_timeout() const;
    std::optional<Output> poll_output();

    const Placement& placement() const { return *placement_; }
    const RepairProgress& repair() const { return repair_.progress(); }
    // No repair runs and no offer waits: everything here is where it should be, as far as that can be.
    bool has_converged() const { return !repair_.progress().is_running && offers_.is_idle(); }
    std::size_t waiting() const { return offers_.waiting(); }
    const OfferCounters& offers() const { return offers_.counters(); }
    const Recovery& recovery() const { return recovery_; }

  private:
    struct ChainLookup {
        FetchId id;
        ChainFetch::Asks asks;
    };
    struct ChainPart {
        FetchId id;
        ChainFetch::Asks asks;
    };
    struct ValueFetch {
        FetchId id;
        Item item;
        std::vector<PeerId> holders;  // not asked yet, the next one last
    };
    struct Finding {
        FindId find;
        ValueSearch::Asks asks;
    };
    struct ColdLookup {
        FetchId id;
        std::vector<std::uint32_t> places;
    };
    struct Recovering {
        std::vector<SegmentKey> keys;
    };
    struct IntakeFetch {
        std::vector<Item> items;
    };
    struct Offering {
        std::size_t items;
    };
    struct Ask {
        PeerId to;
        std::variant<ChainLookup, ChainPart, ColdLookup, ValueFetch, Finding, Recovering, IntakeFetch, Offering>
            purpose;
        std::size_t arrived = 0;  // items of a fetch
        TimePoint deadline;
    };
    using Asks = std::map<AskId, Ask>;

    struct Chain {
        ChainFetch fetch;
        FetchTerms terms;
    };

    void ask(TimePoint now, PeerId to, Question question, decltype(Ask::purpose) purpose, Duration timeout);
    AskId begin(TimePoint now, PeerId to, decltype(Ask::purpose) purpose, Duration timeout);
    void set_deadline(Asks::iterator ask, TimePoint deadline);
    Asks::iterator end(Asks::iterator ask);
    void fail(TimePoint now, Asks::iterator ask);
    void end_fetch(FetchId id);
    ChainFetch* find_chain(FetchId id);
    void begin_part(TimePoint now, FetchId id, ChainFetch& chain, ChainFetch::Asks asks);
    void pump_chain(TimePoint now, FetchId id);
    void fetch_next(TimePoint now, ValueFetch fetch);
    void end_find(FindId id);
    void pump_intake(TimePoint now);
    void send_offers(TimePoint now);
    void take_outcomes(TimePoint now, PeerId from, std::span<const OfferOutcome> outcomes);
    void pump_recovery(TimePoint now);

    const PeerId self_;
    const Holdings& holdings_;
    const ExchangeConfig config_;
    std::shared_ptr<const Placement> placement_ = std::make_shared<const Placement>();
    std::map<FetchId, Chain> chains_;
    std::map<FindId, ValueSearch> finds_;
    std::map<PeerId, TimePoint> avoided_;  // until when
    OfferQueue offers_;
    Intake intake_;
    Repair repair_;
    Recovery recovery_;
    Asks asks_;
    std::set<std::pair<TimePoint, AskId>> deadlines_;
    std::uint64_t last_ask_ = 0;
    std::uint64_t given_up_ = 0;  // offers, as of the last pass that was scheduled for them
    std::uint64_t refused_ = 0;   // likewise
    std::deque<Output> outputs_;
};

}  // namespace exa::kv
