#include "app/kv/memory.h"

#include <utility>

namespace exa::app::kv {

exa::kv::SealedSegment KvMemory::find(const exa::kv::SegmentKey& key) {
    const std::lock_guard lock(mutex_);
    return use(key);
}

std::vector<exa::kv::SealedSegment> KvMemory::find_run(std::span<const exa::kv::SegmentKey> keys) {
    std::vector<exa::kv::SealedSegment> found;
    const std::lock_guard lock(mutex_);
    while (found.size() < keys.size()) {
        auto segment = use(keys[found.size()]);
        if (!segment) break;
        found.push_back(std::move(segment));
    }
    for (std::size_t i = found.size(); i > 0; --i) use(keys[i - 1]);
    return found;
}

bool KvMemory::contains(const exa::kv::SegmentKey& key) const {
    const std::lock_guard lock(mutex_);
    return index_.contains(key);
}

void KvMemory::put(const exa::kv::SegmentKey& key, exa::kv::SealedSegment segment) {
    const std::lock_guard lock(mutex_);
    drop(key);
    if (segment->size() > bytes_max_) return;
    bytes_ += segment->size();
    entries_.push_front({key, std::move(segment)});
    index_.emplace(key, entries_.begin());
    while (bytes_ > bytes_max_) drop(entries_.back().key);
}

bool KvMemory::erase(const exa::kv::SegmentKey& key) {
    const std::lock_guard lock(mutex_);
    return drop(key);
}

KvMemory::Usage KvMemory::usage() const {
    const std::lock_guard lock(mutex_);
    return {entries_.size(), bytes_};
}

exa::kv::SealedSegment KvMemory::use(const exa::kv::SegmentKey& key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->segment;
}

bool KvMemory::drop(const exa::kv::SegmentKey& key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return false;
    const auto entry = found->second;
    bytes_ -= entry->segment->size();
    index_.erase(found);
    entries_.erase(entry);
    return true;
}

}  // namespace exa::app::kv
