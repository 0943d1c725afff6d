// Repair: goes through what is stored here after the owners have changed, and offers each new owner what it may lack.
//
// Every holder of a segment does so; the owner fetches it from the peer that offers it first and tells the others that
// it has it. A peer that comes back into reach has missed what was written meanwhile, and is offered everything it
// owns. From time to time every peer is: an owner's disk may have lost what it acknowledged. A pass is paced, and
// begins again when the owners change during it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>

#include "base/ids.h"
#include "base/time.h"
#include "kv/holdings.h"
#include "kv/offer_queue.h"
#include "kv/placement.h"

namespace exa::kv {

struct RepairConfig {
    Duration step = std::chrono::milliseconds{50};
    std::size_t step_items = 512;         // examined
    std::uint64_t step_bytes = 16 << 20;  // offered; a single segment may exceed it
    // From the end of a pass to one in which every peer is offered what it owns; an offer of something that is there
    // costs its key and no more. 0: never.
    Duration period = std::chrono::hours{1};
};

struct RepairProgress {
    bool is_running = false;
    std::uint64_t passes = 0;     // finished
    std::uint64_t looked_at = 0;  // items, in the pass under way or the last one
    std::uint64_t offered = 0;
    std::uint64_t bytes = 0;
};

class Repair {
  public:
    Repair(PeerId self, const RepairConfig& config) : self_(self), config_(config) {}

    void handle_placement(TimePoint now, std::shared_ptr<const Placement> placement);
    // Offers were given up: every reachable peer is offered again what it owns, from `at` on, or in the pass under way.
    void schedule_pass(TimePoint at);
    void handle_timeout(TimePoint now, const Holdings& holdings, OfferQueue& offers);
    TimePoint next_timeout() const { return next_step_; }
    const RepairProgress& progress() const { return progress_; }

  private:
    void begin(TimePoint now);
    bool step(const Holdings& holdings, OfferQueue& offers);

    const PeerId self_;
    const RepairConfig config_;
    std::shared_ptr<const Placement> repaired_ = std::make_shared<const Placement>();  // as of the last finished pass
    std::shared_ptr<const Placement> placement_ = repaired_;
    std::set<PeerId> reachable_;
    std::set<PeerId> reachable_again_;  // since that pass
    std::optional<SegmentKey> after_;
    TimePoint next_step_ = time_never;
    TimePoint next_round_ = time_never;  // of offers to every peer
    RepairProgress progress_;
};

}  // namespace exa::kv
