// Recovery: asks for what this peer shall keep and its disk has lost.
//
// The other owners are asked at once. What none of them has given is asked for of everybody in reach, again and again
// and later each time: whoever served a session has its segments, too, and an owner may be cut off for a while. What
// does not come back even so is left to the rounds of repair. Bounded in what it remembers and in what it asks at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "kv/holdings.h"
#include "kv/placement.h"

namespace exa::kv {

struct RecoveryConfig {
    Duration retry = std::chrono::seconds{1};        // after the first try; doubles with each
    std::uint32_t tries = 11;                        // of one key: in all, a quarter of an hour
    std::size_t keys_max = 4096;                     // that are remembered
    Duration step = std::chrono::milliseconds{100};  // between two questions to the same peer
};

class Recovery {
  public:
    Recovery(PeerId self, const RecoveryConfig& config) : self_(self), config_(config) {}

    void lost(TimePoint now, const SegmentKey& key);
    // It is here again.
    void handle_stored(const SegmentKey& key);

    struct Asks {
        PeerId to;
        std::vector<SegmentKey> keys;  // question_items_max at most
    };
    // Who is to be asked for what now.
    std::vector<Asks> handle_timeout(TimePoint now, const Holdings& holdings, const Placement& placement);
    TimePoint next_timeout() const;

    std::size_t waiting() const { return lost_.size(); }
    // That came back.
    std::uint64_t recovered() const { return recovered_; }

  private:
    struct Lost {
        std::uint32_t tries = 0;
        TimePoint due;
    };

    const PeerId self_;
    const RecoveryConfig config_;
    std::map<SegmentKey, Lost> lost_;
    std::set<std::pair<TimePoint, SegmentKey>> due_;  // all of them
    TimePoint not_before_{};
    std::uint64_t recovered_ = 0;
};

}  // namespace exa::kv
