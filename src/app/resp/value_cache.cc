#include "app/resp/value_cache.h"

#include <algorithm>
#include <utility>

#include "app/resp/value.h"

namespace exa::app::resp {

RespValueCache::RespValueCache(const RespCacheOptions& options, const RespDeps& deps, RespCounters& counters)
    : options_(options), deps_(deps), counters_(counters), clock_(options.writer_tag), memory_(options.memory_bytes) {}

std::shared_ptr<exa::kv::SegmentBuffer> RespValueCache::make_buffer(std::size_t bytes) {
    *allocated_ += bytes;
    return {new exa::kv::SegmentBuffer(bytes), [allocated = allocated_, bytes](exa::kv::SegmentBuffer* buffer) {
                delete buffer;
                *allocated -= bytes;
            }};
}

std::shared_ptr<exa::kv::SegmentBuffer> RespValueCache::try_make_buffer(std::size_t bytes) {
    {
        const std::lock_guard lock(mutex_);
        if (!make_room(bytes)) return nullptr;
    }
    return make_buffer(bytes);
}

std::shared_ptr<void> RespValueCache::reserve(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (!make_room(bytes)) return nullptr;
    *allocated_ += bytes;
    return {allocated_.get(), [allocated = allocated_, bytes](auto*) { *allocated -= bytes; }};
}

bool RespValueCache::make_room(std::uint64_t bytes) {
    while (*allocated_ + bytes > options_.allocated_bytes_max && memory_.forget_oldest()) {
    }
    if (*allocated_ + bytes <= options_.allocated_bytes_max) return true;
    count(counters_.refused);
    return false;
}

const RespMemory::Entry* RespValueCache::find(const exa::kv::SegmentKey& key, std::uint64_t stamp_min) const {
    const auto* entry = memory_.find(key);
    return entry != nullptr && entry->version.stamp >= stamp_min ? entry : nullptr;
}

RespValueCache::Hit RespValueCache::find_value(const exa::kv::SegmentKey& key, std::uint64_t stamp_min) {
    const std::lock_guard lock(mutex_);
    const auto* entry = find(key, stamp_min);
    if (entry == nullptr) return {};
    if (!entry->version.is_live(deps_.now_ms())) return {true, std::nullopt};
    Hit hit{true, resp_view(entry->version)};
    memory_.touch(key);
    return hit;
}

std::optional<RespVersion> RespValueCache::find_version(const exa::kv::SegmentKey& key, std::uint64_t stamp_min) const {
    const std::lock_guard lock(mutex_);
    const auto* entry = find(key, stamp_min);
    return entry != nullptr ? std::optional(entry->version) : std::nullopt;
}

std::optional<exa::kv::Item> RespValueCache::find_item(const exa::kv::SegmentKey& key) const {
    const std::lock_guard lock(mutex_);
    if (const auto* entry = memory_.find(key)) return entry->version.item(deps_.now_ms());
    std::size_t part = 0;
    const RespVersion* version = memory_.find_part(key, part);
    if (version == nullptr) return std::nullopt;
    return exa::kv::Item{key, version->stamp, static_cast<std::uint32_t>(version->parts[part]->size())};
}

std::optional<RespValueCache::Part> RespValueCache::find_part(const exa::kv::SegmentKey& key) const {
    const std::lock_guard lock(mutex_);
    std::size_t index = 0;
    const RespVersion* version = memory_.find_part(key, index);
    return version != nullptr ? std::optional(Part{*version, index}) : std::nullopt;
}

exa::kv::KnownValue RespValueCache::known(const exa::kv::KnownValue& stored) {
    const exa::kv::SegmentKey& key = stored.item.key;
    const std::lock_guard lock(mutex_);
    const auto* entry = memory_.find(key);
    if (entry == nullptr) return stored;
    const auto known = exa::kv::known_value(stored, entry->version.item(deps_.now_ms()), entry->is_unacked);
    if (entry->version.stamp < known.item.stamp) memory_.forget(key);
    return known;
}

void RespValueCache::touch(std::span<const exa::kv::SegmentKey> keys) {
    const std::lock_guard lock(mutex_);
    for (const exa::kv::SegmentKey& key : keys) memory_.touch(key);
}

std::vector<exa::kv::SegmentKey> RespValueCache::list_own(std::uint64_t tag, const exa::kv::SegmentKey& first,
                                                          const exa::kv::SegmentKey& last) const {
    std::vector<exa::kv::SegmentKey> keys;
    const std::lock_guard lock(mutex_);
    for (const RespVersion* own : memory_.list_own(first, last))
        if (own->tag == tag) keys.push_back(own->keys[0]);
    return keys;
}

RespVersion RespValueCache::write(const exa::kv::SegmentKey& key, RespVersion version, std::uint64_t after) {
    const std::lock_guard lock(mutex_);
    const auto* old = memory_.find(key);
    version.stamp = clock_.next(deps_.wall(), std::max(after, old != nullptr ? old->version.stamp : 0));
    for (std::uint32_t i = 0; i < version.parts.size(); ++i)
        version.keys.push_back(resp_part_key(deps_.crypto, key, version.stamp, i));
    if (old != nullptr && old->waits) count(counters_.overwritten);
    memory_.enter(key, version, deps_.disk != nullptr, deps_.disk == nullptr || deps_.peers != nullptr);
    return version;
}

RespVersion RespValueCache::remove(const exa::kv::SegmentKey& key, std::uint64_t tag, std::uint64_t after) {
    const std::lock_guard lock(mutex_);
    const auto* old = memory_.find(key);
    const std::uint64_t last = std::max(after, old != nullptr ? old->version.stamp : 0);
    RespVersion removal = resp_removal(key, clock_.next(deps_.wall(), last), tag);
    memory_.enter(key, removal, deps_.disk != nullptr, deps_.peers != nullptr);
    return removal;
}

std::optional<RespVersion> RespValueCache::replace(const exa::kv::SegmentKey& key, RespVersion version,
                                                   std::uint64_t base) {
    const auto stored = deps_.disk == nullptr ? std::nullopt : deps_.disk->find(key);
    const std::lock_guard lock(mutex_);
    const auto* old = memory_.find(key);
    const std::uint64_t last = std::max(stored ? stored->stamp : 0, old != nullptr ? old->version.stamp : 0);
    const bool memory_is_all = deps_.disk == nullptr && deps_.peers == nullptr;
    if (last > base || (memory_is_all && last != base)) return std::nullopt;
    version.stamp = clock_.following(base);
    if (memory_is_all && version.is_removal) {
        memory_.forget(key);
        return version;
    }
    if (!version.is_removal) {
        version.keys.clear();
        for (std::uint32_t i = 0; i < version.parts.size(); ++i)
            version.keys.push_back(resp_part_key(deps_.crypto, key, version.stamp, i));
    }
    if (old != nullptr && old->waits) count(counters_.overwritten);
    memory_.enter(key, version, deps_.disk != nullptr, deps_.disk == nullptr || deps_.peers != nullptr);
    return version;
}

void RespValueCache::remember(const exa::kv::SegmentKey& key, RespVersion version) {
    const std::lock_guard lock(mutex_);
    const auto* entry = memory_.find(key);
    if (entry != nullptr && (entry->waits || entry->version.stamp >= version.stamp)) return;
    memory_.enter(key, std::move(version), false, false);
}

void RespValueCache::forget(const exa::kv::SegmentKey& key) {
    const std::lock_guard lock(mutex_);
    memory_.forget(key);
}

void RespValueCache::apply(const exa::kv::SegmentKey& key, const exa::kv::ValueVerdict& verdict) {
    const std::lock_guard lock(mutex_);
    clock_.observe(deps_.wall(), verdict.stamp);
    const auto* entry = memory_.find(key);
    if (entry == nullptr || verdict.is_local) return;
    // Of the same stamp it is only not vouched for, and may be the next time.
    if (entry->version.stamp < verdict.stamp || verdict.is_sure) memory_.forget(key);
}

std::optional<RespVersion> RespValueCache::version_to_store(const exa::kv::SegmentKey& key, std::uint64_t stamp) const {
    const std::lock_guard lock(mutex_);
    const auto* entry = memory_.find(key);
    return entry != nullptr && entry->version.stamp == stamp ? std::optional(entry->version) : std::nullopt;
}

void RespValueCache::handle_stored(const exa::kv::SegmentKey& key, std::uint64_t stamp, bool on_disk) {
    const std::lock_guard lock(mutex_);
    memory_.handle_stored(key, stamp, on_disk);
}

void RespValueCache::handle_acked(const exa::kv::Item& item) {
    const std::lock_guard lock(mutex_);
    memory_.handle_acked(item.key, item.stamp);
}

void RespValueCache::observe(std::uint64_t stamp) {
    const std::lock_guard lock(mutex_);
    clock_.observe(deps_.wall(), stamp);
}

RespValueCache::Usage RespValueCache::usage() const {
    const std::lock_guard lock(mutex_);
    return {memory_.count(), memory_.waiting(), memory_.recent_bytes()};
}

}  // namespace exa::app::resp
