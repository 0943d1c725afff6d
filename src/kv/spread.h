// Spread: offers segments to the peers that shall keep them, until these have them or there is no point.
//
// One question at a time is open to a peer; what waits for it meanwhile goes into the next one, so that a slow owner
// costs a queue and not a connection. Queues are bounded: what has no room is left to the next repair. What could not
// be stored just now is offered again, later each time; a peer that refused is not asked again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "kv/messages.h"
#include "kv/placement.h"

namespace exa::kv {

struct SpreadConfig {
    std::size_t queue_items = 4096;            // for one peer
    std::uint64_t offer_bytes = 32 << 20;      // of one question; one segment may exceed it
    Duration retry = std::chrono::seconds{1};  // doubles with each failure, to 32 times that
    std::uint32_t tries = 8;                   // of one item
};

struct SpreadCounters {
    std::uint64_t offered = 0;
    std::uint64_t held = 0;
    std::uint64_t refused = 0;
    std::uint64_t dropped = 0;    // no room in the queue, or tried often enough
    std::uint64_t forgotten = 0;  // of peers that went out of reach
};

class Spread {
  public:
    explicit Spread(const SpreadConfig& config) : config_(config) {}

    // False when the queue for that peer has no room. Something queued already is not queued twice.
    bool offer(PeerId to, const Item& item, bool moves = false);
    // So many more items can be queued for it.
    std::size_t room(PeerId to) const;

    struct Offer {
        PeerId to;
        Question question;
    };
    // The next question to ask; then answered() or failed() follows for that peer. What was queued for one who is no
    // owner by `placement` any more is left out, but for moves.
    std::optional<Offer> next(TimePoint now, const Placement& placement);
    // An outcome each, as many as there were items; gives those that are held there now.
    std::vector<Item> answered(TimePoint now, PeerId from, std::span<const OfferOutcome> outcomes);
    void failed(TimePoint now, PeerId from);

    // What was to go there is of no use any more.
    void forget(PeerId to);

    TimePoint next_timeout() const;
    // It is queued for somebody, or asked about.
    bool waits(const Item& item) const;
    // Nothing waits and no question is open.
    bool is_idle() const { return lanes_.empty(); }
    std::size_t waiting() const;
    const SpreadCounters& counters() const { return counters_; }

  private:
    struct Waiting {
        Item item;
        bool moves = false;
        std::uint32_t tries = 0;
    };
    struct Lane {
        std::deque<Waiting> queue;
        std::vector<Waiting> asked;                            // the open question
        std::set<std::pair<SegmentKey, std::uint64_t>> known;  // keys and stamps of both
        TimePoint not_before{};
        std::uint32_t failures = 0;  // in a row
    };

    Question fill(PeerId to, Lane& lane, const Placement& placement);
    void put_back(TimePoint now, Lane& lane, std::vector<Waiting> again, bool failed);

    const SpreadConfig config_;
    std::map<PeerId, Lane> lanes_;  // of those with something to do
    std::optional<PeerId> last_;    // who was asked last: the others come first
    SpreadCounters counters_;
};

}  // namespace exa::kv
