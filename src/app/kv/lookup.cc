#include "app/kv/lookup.h"

#include <utility>

namespace exa::app::kv {

std::vector<exa::kv::Item> KvLookup::items(std::span<const exa::kv::SegmentKey> keys) {
    std::vector<exa::kv::Item> items;
    if (disk_ != nullptr) items = disk_->lookup(wall_(), keys);
    for (std::size_t i = items.size(); i < keys.size(); ++i) items.push_back({keys[i]});
    for (exa::kv::Item& item : items) {
        if (item.bytes > 0) continue;
        if (const auto segment = memory_.find(item.key)) item.bytes = static_cast<std::uint32_t>(segment->size());
    }
    values_.with([&](const KvValues& values) {
        for (exa::kv::Item& item : items) {
            const auto value = values.find(item.key);
            if (value && value->stamp > item.stamp) item = *value;
        }
    });
    return items;
}

KvLookup::Place KvLookup::locate(const exa::kv::SegmentKey& key) const {
    Place place;
    if (disk_ != nullptr) place.disk = disk_->find(key);
    place.memory = memory_.contains(key);
    values_.with([&](const KvValues& values) { place.memory = place.memory || values.find(key); });
    return place;
}

exa::kv::SealedSegment KvLookup::find(const exa::kv::SegmentKey& key, const std::stop_token& stopping) {
    if (!writer_.bring_forward(key, stopping)) return nullptr;
    {
        std::unique_lock lock(mutex_);
        if (!read_.wait(lock, stopping, [&] { return !reading_.contains(key); })) return nullptr;
        if (auto segment = memory_.find(key)) {
            ++counters_.hits_memory;
            return segment;
        }
        if (disk_ == nullptr) return nullptr;
        reading_.insert(key);
    }
    exa::kv::SealedSegment segment = disk_->get(wall_(), key);
    if (segment) {
        ++counters_.hits_disk;
        const auto head = exa::kv::parse_segment(segment->view());
        // A value may be written over, and what is in memory is not looked for on the disk.
        if (head && head.value().kind == exa::kv::SegmentKind::segment) memory_.put(key, segment);
    }
    {
        const std::lock_guard lock(mutex_);
        reading_.erase(key);
    }
    read_.notify_all();
    return segment;
}

exa::kv::SealedSegment KvLookup::find_value(const exa::kv::SegmentKey& key) {
    exa::kv::SealedSegment segment;
    values_.with([&](KvValues& values) { segment = values.get(key); });
    if (!segment || disk_ == nullptr) return segment;
    const auto stored = disk_->find(key);
    const auto head = exa::kv::parse_segment(segment->view());
    return stored && head && stored->stamp > head.value().stamp ? nullptr : segment;
}

}  // namespace exa::app::kv
