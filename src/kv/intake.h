// Intake: takes what others offer. What this peer lacks and shall keep is fetched from whoever offers it, stored, and
// then acknowledged; a segment that several offer is fetched once.
//
// Bounded in offers and in bytes under way: what is beyond is answered with `later`, so a herd of offers costs a herd
// of small answers.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "kv/holdings.h"
#include "kv/messages.h"
#include "kv/placement.h"

namespace exa::kv {

// Chosen by the caller, unique among the offers that are not answered.
struct OfferId {
    std::uint64_t value = 0;
    auto operator<=>(const OfferId&) const = default;
};

struct IntakeConfig {
    std::size_t offers = 256;             // not answered
    std::uint64_t bytes = 256 << 20;      // sealed, of segments that are asked for or being stored
    std::uint64_t fetch_bytes = 8 << 20;  // of one question; one segment may exceed it
    std::size_t fetches_per_peer = 2;     // open at a time
};

class Intake {
  public:
    // `holdings` outlives it.
    Intake(PeerId self, const Holdings& holdings, const IntakeConfig& config)
        : self_(self), holdings_(holdings), config_(config) {}

    // `question` is an offer or a move.
    void offered(OfferId id, PeerId from, const Question& question, const Placement& placement);
    // That peer has it, and waits for no answer.
    void found(PeerId from, const Item& item) { want(from, item); }
    // Whoever offered does not wait for the answer any more. What is under way is stored all the same.
    void forget(OfferId id);

    struct Fetch {
        PeerId from;
        std::vector<Item> items;
    };
    std::optional<Fetch> next_fetch();
    // Nothing more comes of a fetch. Each of its items is settled, sooner or later.
    void fetch_ended(PeerId from);
    // How it ended: stored, refused by the store, or failed to arrive.
    void settle(const Item& item, OfferOutcome outcome);

    struct Answer {
        OfferId id;
        std::vector<OfferOutcome> outcomes;
    };
    std::optional<Answer> next_answer();

    // Sealed bytes under way.
    std::uint64_t bytes() const { return bytes_; }

  private:
    using Name = std::pair<SegmentKey, std::uint64_t>;  // key and stamp
    struct Offer {
        std::vector<OfferOutcome> outcomes;
        std::size_t open = 0;
    };
    struct Wanted {
        Item item;
        std::vector<std::pair<OfferId, std::size_t>> waiting;  // which places of which offers
    };

    // Null: it would be too much at a time.
    Wanted* want(PeerId from, const Item& item);

    const PeerId self_;
    const Holdings& holdings_;
    const IntakeConfig config_;
    std::map<OfferId, Offer> offers_;
    std::map<Name, Wanted> wanted_;
    std::map<PeerId, std::deque<Item>> queues_;  // to be fetched
    std::map<PeerId, std::size_t> fetches_;      // open ones
    std::deque<Answer> answers_;
    std::uint64_t bytes_ = 0;
};

}  // namespace exa::kv
