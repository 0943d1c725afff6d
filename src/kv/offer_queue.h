// OfferQueue: offers segments to the peers that should keep them, until those have them or there is no point any more.
//
// Each peer has one open question at a time; what is offered to it meanwhile goes into the next one, so that a slow
// owner costs a queue and not a connection. Queues are bounded: what does not fit is left to the next repair pass. What
// could not be stored right now is offered again, at longer intervals; a peer that refused is not asked again.
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

struct OfferQueueConfig {
    std::size_t queue_items = 4096;            // for each peer
    std::uint64_t offer_bytes = 32 << 20;      // of one question; a single segment may exceed it
    Duration retry = std::chrono::seconds{1};  // doubles with each failure, up to 32 times that
    std::uint32_t tries = 8;                   // of each item
};

struct OfferCounters {
    std::uint64_t offered = 0;
    std::uint64_t held = 0;
    std::uint64_t refused = 0;
    std::uint64_t dropped = 0;    // no room in the queue, or out of tries
    std::uint64_t forgotten = 0;  // for peers that went out of reach
};

class OfferQueue {
  public:
    explicit OfferQueue(const OfferQueueConfig& config) : config_(config) {}

    // False when the queue for that peer is full. An item that is queued already is not queued twice.
    bool offer(PeerId to, const Item& item, bool moves = false);
    // How many more items can be queued for it.
    std::size_t room(PeerId to) const;

    struct Offer {
        PeerId to;
        Question question;
    };
    // The next question to ask; answered() or failed() follows for that peer. An item queued for a peer that does not
    // own it any more under `placement` is left out, unless it is a move.
    std::optional<Offer> next(TimePoint now, const Placement& placement);
    // One outcome for each item of the question; returns the items that are held there now.
    std::vector<Item> answered(TimePoint now, PeerId from, std::span<const OfferOutcome> outcomes);
    void failed(TimePoint now, PeerId from);

    // Drops what waits for that peer.
    void forget(PeerId to);

    TimePoint next_timeout() const;
    // The item is queued for some peer, or in an open question.
    bool waits(const Item& item) const;
    // Nothing waits and no question is open.
    bool is_idle() const { return lanes_.empty(); }
    std::size_t waiting() const;
    const OfferCounters& counters() const { return counters_; }

  private:
    struct Waiting {
        Item item;
        bool moves = false;
        std::uint32_t tries = 0;
    };
    struct Lane {
        std::deque<Waiting> queue;
        std::vector<Waiting> asked;                            // in the open question
        std::set<std::pair<SegmentKey, std::uint64_t>> known;  // keys and stamps of both
        TimePoint not_before{};
        std::uint32_t failures = 0;  // in a row
    };

    Question fill(PeerId to, Lane& lane, const Placement& placement);
    void put_back(TimePoint now, Lane& lane, std::vector<Waiting> again, bool failed);

    const OfferQueueConfig config_;
    std::map<PeerId, Lane> lanes_;  // with something to do
    std::optional<PeerId> last_;    // the peer asked last; the others come first
    OfferCounters counters_;
};

}  // namespace exa::kv
