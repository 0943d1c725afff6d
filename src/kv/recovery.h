// Recovery: brings back what this peer should keep and its disk has lost.
//
// The other owners are asked at once. If none of them has it, everybody in reach is asked, again and again and at
// longer intervals: the peer that served a session has its segments, too, and an owner may be cut off for a while. What
// does not come back that way is left to repair passes. The number of keys remembered and of keys in a question is
// bounded.
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
    Duration retry = std::chrono::seconds{1};        // after the first try; doubles each time
    std::uint32_t tries = 11;                        // of one key: a quarter of an hour in all
    std::size_t keys_max = 4096;                     // remembered
    Duration step = std::chrono::milliseconds{100};  // between two questions to the same peer
};

class Recovery {
  public:
    Recovery(PeerId self, const RecoveryConfig& config) : self_(self), config_(config) {}

    void handle_lost(TimePoint now, const SegmentKey& key);
    // It is back.
    void handle_stored(const SegmentKey& key);

    struct Asks {
        PeerId to;
        std::vector<SegmentKey> keys;  // question_items_max at most
    };
    // What to ask which peers now.
    std::vector<Asks> handle_timeout(TimePoint now, const Holdings& holdings, const Placement& placement);
    TimePoint next_timeout() const;

    std::size_t waiting() const { return lost_.size(); }
    // Keys that came back.
    std::uint64_t recovered() const { return recovered_; }

  private:
    struct Lost {
        std::uint32_t tries = 0;
        TimePoint due;
    };

    const PeerId self_;
    const RecoveryConfig config_;
    std::map<SegmentKey, Lost> lost_;
    std::set<std::pair<TimePoint, SegmentKey>> due_;  // the same keys, by time
    TimePoint not_before_{};
    std::uint64_t recovered_ = 0;
};

}  // namespace exa::kv
