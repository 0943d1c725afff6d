// Exchange: the KV services of a cluster among themselves. What one peer lacks it looks for at the owners and fetches;
// what it stores anew it offers to them; what others offer it takes; and when the owners change it repairs. Of values
// of the Redis port, which change, it finds the last version.
//
// Sans-IO. Questions and answers are of kv/messages.h; their bytes, the links they take, and the disk are the owner's.
// Polling order: handle_*() and the plain calls at any time, then poll_output() until it is empty, then next_timeout().
//
// A question is answered by what belongs to its kind, or fails: handle_items, handle_segment once for each of its items
// in order, handle_outcomes, or handle_failed at any time. After the last of these, and after a Drop, its id means
// nothing any more and late answers change nothing.
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
#include "kv/cold_cost.h"
#include "kv/holdings.h"
#include "kv/intake.h"
#include "kv/load.h"
#include "kv/messages.h"
#include "kv/placement.h"
#include "kv/recovery.h"
#include "kv/repair.h"
#include "kv/spread.h"
#include "kv/value_search.h"

namespace exa::kv {

// Chosen by the caller, unique among the loads under way.
struct LoadId {
    std::uint64_t value = 0;
    auto operator<=>(const LoadId&) const = default;
};

// Chosen by the caller, unique among the searches under way.
struct FindId {
    std::uint64_t value = 0;
    auto operator<=>(const FindId&) const = default;
};

// Chosen by the exchange, never twice.
struct AskId {
    std::uint64_t value = 0;
    auto operator<=>(const AskId&) const = default;
};

struct ExchangeConfig {
    LoadConfig load;
    SpreadConfig spread;
    IntakeConfig intake;
    RepairConfig repair;
    RecoveryConfig recovery;
    // Of a load: for the answers to its looks; what is not answered by then is not there.
    Duration look_patience = std::chrono::milliseconds{200};
    // Of a search for values: likewise. Who lets it pass is not asked for as long as `avoidance`, so that a peer which
    // hangs costs one search in a while and not each.
    Duration find_patience = std::chrono::milliseconds{200};
    Duration avoidance = std::chrono::seconds{1};
    // More searches at a time find nothing.
    std::size_t finds_max = 1024;
    // The same for a look in the cold tier.
    Duration cold_look_patience = std::chrono::milliseconds{200};
    // Between two segments of a fetch. Of one for this peer's disk, which nobody waits for at a screen: without any
    // byte of any fetch from that peer, so that a line on which a segment takes longer passes segments all the same.
    Duration fetch_patience = std::chrono::seconds{5};
    // Of an answer to an offer, for which the other side fetches and stores.
    Duration offer_patience = std::chrono::seconds{60};
    // From offers that were given up, or refused, to a pass of repair.
    Duration reminder = std::chrono::seconds{60};
    Duration refused_reminder = std::chrono::minutes{10};
    Mutant mutant = Mutant::none;
};

class Exchange {
  public:
    // A question for a peer: open a stream to it.
    struct Send {
        AskId id;
        PeerId to;
        Question question;
    };
    // Nobody needs the rest of the answer.
    struct Drop {
        AskId id;
    };
    // For whoever loads; places in ascending order.
    struct Give {
        LoadId id;
        std::uint32_t place;
        SealedSegment segment;
        bool is_cold = false;  // this peer has read it from the cold tier
    };
    // Everything below `given` is here or was given.
    struct LoadOver {
        LoadId id;
        std::uint32_t given;
    };
    // To be stored; handle_stored() follows.
    struct Store {
        Item item;
        SealedSegment segment;
    };
    // To an offer of another peer.
    struct Answer {
        OfferId id;
        std::vector<OfferOutcome> outcomes;
    };
    // An owner has it, by its own word.
    struct Kept {
        PeerId by;
        Item item;
    };
    // A version of a value that this peer, which does not own it, has stored: its owners have it or a later one.
    struct Spare {
        Item item;
    };
    // A verdict for each value, in order.
    struct Found {
        FindId id;
        std::vector<ValueVerdict> verdicts;
    };
    // Which of these are in the cold tier, and worth reading? Answered as a look is.
    struct LookCold {
        AskId id;
        std::vector<SegmentKey> keys;
        LoadTerms terms;
    };
    // To be read from the cold tier. Answered as a fetch is.
    struct ReadCold {
        AskId id;
        std::vector<SegmentKey> keys;
    };
    using Output = std::variant<Send, Drop, Give, LoadOver, Store, Answer, Kept, Spare, Found, LookCold, ReadCold>;

    // `holdings` outlives it.
    Exchange(PeerId self, const Holdings& holdings, const ExchangeConfig& config);

    void handle_placement(TimePoint now, std::shared_ptr<const Placement> placement);

    // Brings what is missing of `chain`: `held` says, place by place, what is not. Ends with a LoadOver.
    void load(TimePoint now, LoadId id, std::vector<SegmentKey> chain, std::vector<bool> held,
              const LoadTerms& terms = {});
    // Brings one segment of this stamp or a later one from whichever holder has it, asked one after the other. As of a
    // load of one place.
    void fetch(TimePoint now, LoadId id, const Item& item, std::vector<PeerId> holders);
    // No LoadOver follows. Of either.
    void cancel(TimePoint now, LoadId id);

    // Ends with a Found.
    void find(TimePoint now, FindId id, std::vector<KnownValue> values);

    // The disk has lost it: if this peer owns it, others are asked for it, and it ends in a Store.
    void recover(TimePoint now, const SegmentKey& key) { recovery_.lost(now, key); }

    // Stored here, and new: it goes to its owners.
    void add(TimePoint now, const Item& item);
    // Goes to that peer, whoever its owners are. False when there is no room to remember it.
    bool move(TimePoint now, PeerId to, const Item& item);

    // `question` is an offer or a move. Ends with an Answer, unless it is forgotten.
    void handle_offer(TimePoint now, OfferId id, PeerId from, const Question& question);
    void forget_offer(OfferId id) { intake_.forget(id); }

    void handle_items(TimePoint now, AskId id, std::span<const Item> items);
    // Verified by the caller, or null: not there, or not what it should be.
    void handle_segment(TimePoint now, AskId id, SealedSegment segment);
    // Bytes of a segment, or of several, have come from that peer; to be told every now and then.
    void handle_progress(TimePoint now, PeerId from);
    void handle_outcomes(TimePoint now, AskId id, std::span<const OfferOutcome> outcomes);
    void handle_failed(TimePoint now, AskId id);
    void handle_stored(TimePoint now, const Item& item, OfferOutcome outcome);

    void handle_timeout(TimePoint now);
    TimePoint next_timeout() const;
    std::optional<Output> poll_output();

    const Placement& placement() const { return *placement_; }
    const RepairProgress& repair() const { return repair_.progress(); }
    // Nothing is to be given to others any more: all that is here is where it shall be, as far as that can be.
    bool is_settled() const { return !repair_.progress().is_running && spread_.is_idle(); }
    std::size_t waiting() const { return spread_.waiting(); }
    const SpreadCounters& spread() const { return spread_.counters(); }
    const Recovery& recovery() const { return recovery_; }

  private:
    struct LoadLook {
        LoadId load;
        Load::Asks asks;
    };
    struct LoadFetch {
        LoadId load;
        Load::Asks asks;
    };
    struct ValueFetch {
        LoadId load;
        Item item;
        std::vector<PeerId> holders;  // that were not asked yet, the next one last
    };
    struct Finding {
        FindId find;
        ValueSearch::Asks asks;
    };
    struct ColdLook {
        LoadId load;
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
        std::variant<LoadLook, LoadFetch, ColdLook, ValueFetch, Finding, Recovering, IntakeFetch, Offering> purpose;
        std::size_t arrived = 0;  // items of a fetch
        TimePoint deadline;
    };
    using Asks = std::map<AskId, Ask>;

    struct Loading {
        Load load;
        LoadTerms terms;
    };

    void ask(TimePoint now, PeerId to, Question question, decltype(Ask::purpose) purpose, Duration patience);
    AskId begin(TimePoint now, PeerId to, decltype(Ask::purpose) purpose, Duration patience);
    void set_deadline(Asks::iterator ask, TimePoint deadline);
    Asks::iterator end(Asks::iterator ask);
    void fail(TimePoint now, Asks::iterator ask);
    Load* find_load(LoadId id);
    void begin_fetch(TimePoint now, LoadId id, Load& load, Load::Asks asks);
    void pump_load(TimePoint now, LoadId id);
    void fetch_next(TimePoint now, ValueFetch fetch);
    void end_find(FindId id);
    void pump_intake(TimePoint now);
    void pump_spread(TimePoint now);
    void take_outcomes(TimePoint now, PeerId from, std::span<const OfferOutcome> outcomes);
    void pump_recovery(TimePoint now);

    const PeerId self_;
    const Holdings& holdings_;
    const ExchangeConfig config_;
    std::shared_ptr<const Placement> placement_ = std::make_shared<const Placement>();
    std::map<LoadId, Loading> loads_;
    std::map<FindId, ValueSearch> finds_;
    std::map<PeerId, TimePoint> avoided_;  // until when
    Spread spread_;
    Intake intake_;
    Repair repair_;
    Recovery recovery_;
    Asks asks_;
    std::set<std::pair<TimePoint, AskId>> deadlines_;
    std::uint64_t last_ask_ = 0;
    std::uint64_t given_up_ = 0;  // offers, as of the last reminder
    std::uint64_t refused_ = 0;   // likewise
    std::deque<Output> outputs_;
};

}  // namespace exa::kv
