// Intake: accepts what other peers offer. What this peer lacks and should keep is fetched from the peer that offers it,
// stored, and then acknowledged; a segment that several peers offer is fetched once.
//
// Offers and bytes under way are bounded. Whatever exceeds the bounds is answered with `later`, so that a herd of
// offers costs a herd of small answers.
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

// Chosen by the caller, unique among the offers without an answer.
struct OfferId {
    std::uint64_t value = 0;
    auto operator<=>(const OfferId&) const = default;
};

struct IntakeConfig {
    std::size_t offers = 256;             // without an answer
    std::uint64_t bytes = 256 << 20;      // sealed, of segments that are being fetched or stored
    std::uint64_t fetch_bytes = 8 << 20;  // of one question; a single segment may exceed it
    std::size_t fetches_per_peer = 2;     // open at a time
};

class Intake {
  public:
    // `holdings` outlives it.
    Intake(PeerId self, const Holdings& holdings, const IntakeConfig& config)
        : self_(self), holdings_(holdings), config_(config) {}

    // `question` is an offer or a move.
    void handle_offer(OfferId id, PeerId from, const Question& question, const Placement& placement);
    // That peer has it, and awaits no answer.
    void handle_found(PeerId from, const Item& item) { request(from, item); }
    // The answer is not awaited any more. What is under way is stored all the same.
    void forget(OfferId id);

    struct Fetch {
        PeerId from;
        std::vector<Item> items;
    };
    std::optional<Fetch> next_fetch();
    // A fetch has ended. finish() is called for each of its items, sooner or later.
    void fetch_ended(PeerId from);
    // The final outcome of an item: stored, refused by the store, or failed to arrive.
    void finish(const Item& item, OfferOutcome outcome);

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
    struct Missing {
        Item item;
        std::vector<std::pair<OfferId, std::size_t>> waiting;  // offers, and places in them
    };

    // Null: it would exceed the bytes under way.
    Missing* request(PeerId from, const Item& item);

    const PeerId self_;
    const Holdings& holdings_;
    const IntakeConfig config_;
    std::map<OfferId, Offer> offers_;
    std::map<Name, Missing> missing_;
    std::map<PeerId, std::deque<Item>> queues_;  // waiting to be fetched
    std::map<PeerId, std::size_t> fetches_;      // under way
    std::deque<Answer> answers_;
    std::uint64_t bytes_ = 0;
};

}  // namespace exa::kv
