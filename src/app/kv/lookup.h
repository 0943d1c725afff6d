// KvLookup: where a segment is at this peer, and its bytes: from memory, then from the disk.
//
// Several that want the same segment at a time cost one read. A segment is verified where it comes from the disk; what
// is in memory has been.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <vector>

#include "app/kv/counters.h"
#include "app/kv/memory.h"
#include "app/kv/values_link.h"
#include "app/kv/write_behind.h"
#include "base/time.h"
#include "io/store/segment_store.h"
#include "kv/messages.h"
#include "kv/segment.h"

namespace exa::app::kv {

// Thread-safe.
class KvLookup {
  public:
    using WallClock = std::function<WallTime()>;

    KvLookup(KvMemory& memory, KvWriteBehind& writer, io::store::SegmentStore* disk, const KvValuesLink& values,
             WallClock wall, KvCounters& counters)
        : memory_(memory), writer_(writer), disk_(disk), values_(values), wall_(std::move(wall)), counters_(counters) {}

    // Of each key what is in memory or on the disk, of size 0 where nothing is, of a stamp and size 0 for a value that
    // was removed. What is on the disk is held there for a moment. Does not block.
    std::vector<exa::kv::Item> items(std::span<const exa::kv::SegmentKey> keys);
    // Where a segment is, without using it. Does not block.
    struct Place {
        bool memory = false;
        std::optional<io::store::StoredInfo> disk{};
    };
    Place locate(const exa::kv::SegmentKey& key) const;

    // These may block on the disk.

    // A segment, once it is sealed. Null when it is not here, or `stopping` came first.
    exa::kv::SealedSegment find(const exa::kv::SegmentKey& key, const std::stop_token& stopping);
    // A value of the Redis port that is in memory, unless the disk has a later version.
    exa::kv::SealedSegment find_value(const exa::kv::SegmentKey& key);

  private:
    KvMemory& memory_;
    KvWriteBehind& writer_;
    io::store::SegmentStore* const disk_;  // null: none
    const KvValuesLink& values_;
    const WallClock wall_;
    KvCounters& counters_;

    std::mutex mutex_;
    std::set<exa::kv::SegmentKey> reading_;  // from the disk, by one thread for all
    std::condition_variable_any read_;       // something left reading_
};

}  // namespace exa::app::kv
