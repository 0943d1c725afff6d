// KvMemory: sealed segments that were used recently, in memory; the least recently used one goes first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "kv/segment_buffer.h"
#include "kv/segment_key.h"

namespace exa::app::kv {

// Thread-safe.
class KvMemory {
  public:
    explicit KvMemory(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

    // Used now. Null when it is not here.
    exa::kv::SealedSegment find(const exa::kv::SegmentKey& key);
    // The longest run of `keys` that is here, from the first one on. All are used now, the first of them last: without
    // it the others are of no use.
    std::vector<exa::kv::SealedSegment> find_run(std::span<const exa::kv::SegmentKey> keys);
    // Not used by that.
    bool contains(const exa::kv::SegmentKey& key) const;
    // Used now, in the place of what was under the key. One larger than all of the memory is not kept.
    void put(const exa::kv::SegmentKey& key, exa::kv::SealedSegment segment);
    // Whether it was here.
    bool erase(const exa::kv::SegmentKey& key);

    struct Usage {
        std::uint64_t segments = 0;
        std::uint64_t bytes = 0;
    };
    Usage usage() const;

  private:
    struct Entry {
        exa::kv::SegmentKey key;
        exa::kv::SealedSegment segment;
    };

    // With mutex_ held.
    exa::kv::SealedSegment use(const exa::kv::SegmentKey& key);
    bool drop(const exa::kv::SegmentKey& key);

    const std::uint64_t bytes_max_;
    mutable std::mutex mutex_;
    std::uint64_t bytes_ = 0;
    std::list<Entry> entries_;  // the least recently used last
    std::map<exa::kv::SegmentKey, std::list<Entry>::iterator> index_;
};

}  // namespace exa::app::kv
