#include "app/kv/memory.h"

#include <utility>

namespace exa::app {

kv::SealedSegment KvMemory::find(const kv::SegmentKey& key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->segment;
}

void KvMemory::put(const kv::SegmentKey& key, kv::SealedSegment segment) {
    erase(key);
    if (segment->size() > bytes_max_) return;
    bytes_ += segment->size();
    entries_.push_front({key, std::move(segment)});
    index_.emplace(key, entries_.begin());
    while (bytes_ > bytes_max_) erase(entries_.back().key);
}

bool KvMemory::erase(const kv::SegmentKey& key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return false;
    const auto entry = found->second;
    bytes_ -= entry->segment->size();
    index_.erase(found);
    entries_.erase(entry);
    return true;
}

}  // namespace exa::app
