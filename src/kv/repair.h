// Repair: goes through what is stored here after the owners have changed, and offers to each new owner what it may
// lack.
//
// Everybody who holds a segment does so; the owner fetches it from who offers it first and tells the others that it has
// it. Who came back within reach has missed what was written meanwhile, and is offered all that it owns. Now and then
// everybody is: an owner may have lost to its disk what it said it had. A pass is paced, and one that a change of
// owners overtakes begins again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>

#include "base/ids.h"
#include "base/time.h"
#include "kv/holdings.h"
#include "kv/placement.h"
#include "kv/spread.h"

namespace exa::kv {

struct RepairConfig {
    Duration step = std::chrono::milliseconds{50};
    std::size_t step_items = 512;         // that are looked at
    std::uint64_t step_bytes = 16 << 20;  // that are offered; one segment may exceed it
    // From the end of a pass to one in which everybody is offered what it owns; an offer of what is there costs no more
    // than its key. 0: never.
    Duration period = std::chrono::hours{1};
};

struct RepairProgress {
    bool is_running = false;
    std::uint64_t passes = 0;     // that came to their end
    std::uint64_t looked_at = 0;  // items, in the pass under way or the last one
    std::uint64_t offered = 0;
    std::uint64_t bytes = 0;
};

class Repair {
  public:
    Repair(PeerId self, const RepairConfig& config) : self_(self), config_(config) {}

    void handle_placement(TimePoint now, std::shared_ptr<const Placement> placement);
    // Offers were given up: everybody in reach is offered again what it owns, from `at` on, or with the pass under way.
    void remind(TimePoint at);
    void handle_timeout(TimePoint now, const Holdings& holdings, Spread& spread);
    TimePoint next_timeout() const { return next_step_; }
    const RepairProgress& progress() const { return progress_; }

  private:
    void begin(TimePoint now);
    bool step(const Holdings& holdings, Spread& spread);

    const PeerId self_;
    const RepairConfig config_;
    std::shared_ptr<const Placement> repaired_ = std::make_shared<const Placement>();  // as of the last whole pass
    std::shared_ptr<const Placement> placement_ = repaired_;
    std::set<PeerId> in_reach_;
    std::set<PeerId> returned_;  // within reach again since that pass
    std::optional<SegmentKey> after_;
    TimePoint next_step_ = time_never;
    TimePoint next_round_ = time_never;  // of offers to everybody
    RepairProgress progress_;
};

}  // namespace exa::kv
