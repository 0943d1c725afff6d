#include "app/resp/memory.h"

#include <algorithm>
#include <utility>

namespace exa::app::resp {

const RespMemory::Entry* RespMemory::find(const exa::kv::SegmentKey& key) const {
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : &found->second;
}

const RespVersion* RespMemory::find_part(const exa::kv::SegmentKey& key, std::size_t& part) const {
    // All keys of a value begin with the same bytes, from which their owners follow.
    exa::kv::SegmentKey first;
    std::copy_n(key.bytes.begin(), 8, first.bytes.begin());
    for (auto at = entries_.lower_bound(first); at != entries_.end(); ++at) {
        if (exa::kv::placement(at->first) != exa::kv::placement(key)) break;
        const RespVersion& version = at->second.version;
        const auto found = std::ranges::find(version.keys, key);
        if (found == version.keys.end()) continue;
        part = static_cast<std::size_t>(found - version.keys.begin());
        return &version;
    }
    return nullptr;
}

void RespMemory::touch(const exa::kv::SegmentKey& key) {
    const auto found = entries_.find(key);
    if (found != entries_.end() && !found->second.waits) recent_.splice(recent_.begin(), recent_, found->second.recent);
}

void RespMemory::enter(const exa::kv::SegmentKey& key, RespVersion version, bool waits, bool is_unacked) {
    if (const auto old = entries_.find(key); old != entries_.end()) drop(old);
    const auto entry = entries_.emplace(key, Entry{std::move(version), waits, is_unacked, {}}).first;
    if (!waits) return make_recent(entry);
    ++waiting_;
}

void RespMemory::forget(const exa::kv::SegmentKey& key) {
    const auto found = entries_.find(key);
    if (found != entries_.end() && !found->second.waits) drop(found);
}

bool RespMemory::forget_oldest() {
    if (recent_.empty()) return false;
    drop(entries_.find(recent_.back()));
    return true;
}

void RespMemory::handle_acked(const exa::kv::SegmentKey& key, std::uint64_t stamp) {
    const auto found = entries_.find(key);
    if (found != entries_.end() && found->second.version.stamp == stamp) found->second.is_unacked = false;
}

void RespMemory::handle_stored(const exa::kv::SegmentKey& key, std::uint64_t stamp, bool on_disk) {
    const auto found = entries_.find(key);
    if (found == entries_.end() || found->second.version.stamp != stamp || !found->second.waits) return;
    if (on_disk && found->second.version.is_removal) return drop(found);
    found->second.waits = false;
    --waiting_;
    make_recent(found);
}

std::vector<const RespVersion*> RespMemory::list_own(const exa::kv::SegmentKey& first,
                                                     const exa::kv::SegmentKey& last) const {
    std::vector<const RespVersion*> own;
    for (auto at = entries_.lower_bound(first); at != entries_.end() && at->first <= last; ++at)
        if (at->second.waits || at->second.is_unacked) own.push_back(&at->second.version);
    return own;
}

void RespMemory::make_recent(Entries::iterator entry) {
    recent_.push_front(entry->first);
    entry->second.recent = recent_.begin();
    recent_bytes_ += entry->second.version.bytes;
    while (recent_bytes_ > bytes_max_) forget_oldest();
}

void RespMemory::drop(Entries::iterator entry) {
    if (entry->second.waits) {
        --waiting_;
    } else {
        recent_bytes_ -= entry->second.version.bytes;
        recent_.erase(entry->second.recent);
    }
    entries_.erase(entry);
}

}  // namespace exa::app::resp
