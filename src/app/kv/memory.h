// KvMemory: sealed segments that were used lately, in memory; the longest unused one goes first. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>

#include "kv/segment_buffer.h"
#include "kv/segment_key.h"

namespace exa::app {

class KvMemory {
  public:
    explicit KvMemory(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

    // Used now. Null when it is not here.
    kv::SealedSegment find(const kv::SegmentKey& key);
    // Not used by that.
    bool contains(const kv::SegmentKey& key) const { return index_.contains(key); }
    // Used now, in the place of what was under the key. One larger than all of the memory is not kept.
    void put(const kv::SegmentKey& key, kv::SealedSegment segment);
    // Whether it was here.
    bool erase(const kv::SegmentKey& key);

    std::size_t count() const { return entries_.size(); }
    std::uint64_t bytes() const { return bytes_; }

  private:
    struct Entry {
        kv::SegmentKey key;
        kv::SealedSegment segment;
    };

    const std::uint64_t bytes_max_;
    std::uint64_t bytes_ = 0;
    std::list<Entry> entries_;  // the longest unused last
    std::map<kv::SegmentKey, std::list<Entry>::iterator> index_;
};

}  // namespace exa::app
