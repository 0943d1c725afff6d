#include "sim/kv/store.h"

#include <iterator>
#include <memory>
#include <utility>

#include "base/check.h"

namespace exa::sim {

namespace {

kv::StoreLimits limits_of(std::uint64_t capacity) {
    kv::StoreLimits limits;
    limits.capacity_bytes = capacity;
    return limits;
}

std::shared_ptr<kv::SegmentBuffer> copy_of(const kv::SegmentBuffer& segment) {
    auto copy = std::make_shared<kv::SegmentBuffer>(segment.size());
    std::ranges::copy(segment.view(), copy->bytes().begin());
    return copy;
}

}  // namespace

KvStore::KvStore(const kv::SegmentSealer& sealer, Disk& disk, std::uint64_t capacity, Rng rng)
    : sealer_(sealer), disk_(disk), capacity_(capacity), rng_(rng), index_(limits_of(capacity)) {}

kv::StoreEntry KvStore::entry_of(const kv::SegmentBuffer& segment) {
    const auto head = kv::parse_segment(segment.view());
    EXA_CHECK(head.has_value());
    kv::StoreEntry entry;
    entry.key = head.value().key;
    entry.tenant = head.value().tenant;
    entry.bytes = static_cast<std::uint32_t>(segment.size());
    return entry;
}

std::optional<kv::Item> KvStore::find(const kv::SegmentKey& key) const {
    const auto at = stored_.find(key);
    if (at == stored_.end()) return std::nullopt;
    return kv::Item{key, 0, static_cast<std::uint32_t>(at->second->size())};
}

std::vector<kv::Item> KvStore::list(const std::optional<kv::SegmentKey>& after, std::size_t limit) const {
    std::vector<kv::Item> page;
    for (auto at = after ? stored_.upper_bound(*after) : stored_.begin(); at != stored_.end() && page.size() < limit;
         ++at)
        page.push_back({at->first, 0, static_cast<std::uint32_t>(at->second->size())});
    return page;
}

KvStore::Begun KvStore::begin(WallTime now, const kv::SealedSegment& segment, std::vector<kv::SegmentKey>& gone) {
    const kv::StoreEntry entry = entry_of(*segment);
    if (stored_.contains(entry.key)) return Begun::present;
    if (writing_.contains(entry.key)) return Begun::writing;
    if (!disk_.takes_writes()) {
        ++effects_.refused_full;
        return Begun::refused;
    }
    std::vector<kv::StoreEntry> evicted;
    const kv::Admission admission = index_.admit(now, entry, evicted);
    for (const kv::StoreEntry& one : evicted) {
        stored_.erase(one.key);
        gone.push_back(one.key);
        ++effects_.evicted;
    }
    if (admission != kv::Admission::admitted) {
        ++effects_.refused_full;
        return Begun::refused;
    }
    writing_.emplace(entry.key, segment);
    return Begun::writing;
}

void KvStore::finish(WallTime, const kv::SegmentKey& key) {
    auto written = writing_.extract(key);
    if (written.empty()) return;
    index_.commit(entry_of(*written.mapped()));
    ++effects_.stored;
    if (std::exchange(misdirects_, false) && !stored_.empty()) {
        ++effects_.misdirected;
        auto victim = std::next(stored_.begin(), static_cast<std::ptrdiff_t>(rng_.below(stored_.size())));
        victim->second = written.mapped();
    }
    stored_.insert(std::move(written));
}

kv::SealedSegment KvStore::get(WallTime now, const kv::SegmentKey& key) {
    const auto at = stored_.find(key);
    if (at == stored_.end()) return nullptr;
    index_.use(now, key);
    if (sealer_.verify(key, at->second->view())) return at->second;
    ++effects_.dropped;
    drop(key);
    return nullptr;
}

std::vector<kv::SegmentKey> KvStore::scrub(std::size_t count) {
    std::vector<kv::SegmentKey> bad;
    auto at = stored_.upper_bound(scrubbed_);
    for (; at != stored_.end() && count > 0; ++at, --count) {
        scrubbed_ = at->first;
        if (!sealer_.verify(at->first, at->second->view())) bad.push_back(at->first);
    }
    if (at == stored_.end()) scrubbed_ = {};
    for (const kv::SegmentKey& key : bad) {
        ++effects_.dropped;
        drop(key);
    }
    return bad;
}

void KvStore::drop(const kv::SegmentKey& key) {
    stored_.erase(key);
    index_.erase(key);
}

void KvStore::crash() {
    for (const auto& [key, segment] : writing_) {
        index_.abort(entry_of(*segment));
        ++effects_.lost;
    }
    writing_.clear();
}

std::vector<kv::SegmentKey> KvStore::wipe() {
    crash();
    std::vector<kv::SegmentKey> all;
    for (const auto& [key, segment] : stored_) {
        index_.erase(key);
        all.push_back(key);
    }
    stored_.clear();
    return all;
}

bool KvStore::rot() {
    if (stored_.empty()) return false;
    auto victim = std::next(stored_.begin(), static_cast<std::ptrdiff_t>(rng_.below(stored_.size())));
    auto changed = copy_of(*victim->second);
    changed->bytes()[rng_.below(changed->size())] ^= static_cast<std::uint8_t>(1U << rng_.below(8));
    victim->second = std::move(changed);
    ++effects_.rotten;
    return true;
}

}  // namespace exa::sim
