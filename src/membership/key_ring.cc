#include "membership/key_ring.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"

namespace exa::membership {

namespace {

// Of a key that every peer has from the operator's file.
constexpr std::uint64_t first_stamp = 1;

// Of two that were changed at once an installed key wins: a removal can be repeated, a peer that was cut off cannot be
// asked to.
auto rank(const wire::KeyEntry& entry) {
    return std::pair(entry.stamp, entry.secret.has_value());
}

// Drops what was changed first, beyond `most` of those that are (not) installed.
void keep_latest(std::vector<wire::KeyEntry>& entries, bool installed, std::size_t most) {
    const auto counts = [&](const wire::KeyEntry& entry) { return entry.secret.has_value() == installed; };
    while (static_cast<std::size_t>(std::ranges::count_if(entries, counts)) > most) {
        auto oldest = entries.end();
        for (auto at = entries.begin(); at != entries.end(); ++at)
            if (counts(*at) &&
                (oldest == entries.end() || std::pair(at->stamp, at->id) < std::pair(oldest->stamp, oldest->id)))
                oldest = at;
        entries.erase(oldest);
    }
}

}  // namespace

KeyRing::KeyRing(const Crypto& crypto, const wire::Keys& keys) {
    merge(crypto, keys);
}

wire::KeyEntry* KeyRing::entry(KeyId id) {
    const auto at = std::ranges::lower_bound(state_.entries, id, {}, &wire::KeyEntry::id);
    return at != state_.entries.end() && at->id == id ? &*at : nullptr;
}

std::uint64_t KeyRing::next_stamp() const {
    std::uint64_t last = state_.primary_stamp;
    for (const wire::KeyEntry& entry : state_.entries) last = std::max(last, entry.stamp);
    return std::min(last + 1, wire::counter_max);
}

void KeyRing::put(const wire::KeyEntry& changed) {
    if (wire::KeyEntry* known = entry(changed.id))
        *known = changed;
    else
        state_.entries.insert(std::ranges::lower_bound(state_.entries, changed.id, {}, &wire::KeyEntry::id), changed);
}

void KeyRing::add_first(std::span<const ClusterKey> keys) {
    for (const ClusterKey& key : keys)
        if (entry(key.id) == nullptr) put({key.id, first_stamp, key.secret});
    if (state_.primary_stamp == 0 && !keys.empty()) {
        state_.primary = keys.front().id;
        state_.primary_stamp = first_stamp;
    }
    derive();
}

bool KeyRing::add(const ClusterKey& key) {
    if (find(key.id) != nullptr) return false;
    put({key.id, next_stamp(), key.secret});
    derive();
    return true;
}

bool KeyRing::use(KeyId id) {
    if (find(id) == nullptr || primary_ == id) return false;
    state_.primary_stamp = next_stamp();
    state_.primary = id;
    derive();
    return true;
}

bool KeyRing::remove(KeyId id) {
    if (find(id) == nullptr) return false;
    put({id, next_stamp(), std::nullopt});
    derive();
    return true;
}

bool KeyRing::merge_entry(const wire::KeyEntry& other) {
    const wire::KeyEntry* known = entry(other.id);
    if (known != nullptr && rank(*known) >= rank(other)) return false;
    put(other);
    return true;
}

bool KeyRing::merge(const Crypto& crypto, const wire::Keys& other) {
    const wire::Keys before = state_;
    for (const wire::KeyEntry& entry : other.entries)
        if (!entry.secret || cluster_key(crypto, *entry.secret).id == entry.id) merge_entry(entry);
    if (std::pair(other.primary_stamp, other.primary) > std::pair(state_.primary_stamp, state_.primary)) {
        state_.primary = other.primary;
        state_.primary_stamp = other.primary_stamp;
    }
    derive();
    return state_ != before;
}

void KeyRing::derive() {
    keep_latest(state_.entries, true, wire::keys_held_max);
    keep_latest(state_.entries, false, wire::keys_removed_max);
    installed_.clear();
    for (const wire::KeyEntry& entry : state_.entries)
        if (entry.secret) installed_.push_back({entry.id, *entry.secret});
    const auto newest = newest_first();
    primary_ = find(state_.primary) != nullptr ? state_.primary : newest.empty() ? KeyId{} : newest.front();
}

const ClusterKey* KeyRing::find(KeyId id) const {
    const auto at = std::ranges::lower_bound(installed_, id, {}, &ClusterKey::id);
    return at != installed_.end() && at->id == id ? &*at : nullptr;
}

std::vector<KeyId> KeyRing::newest_first() const {
    std::vector<std::pair<std::uint64_t, KeyId>> stamped;
    for (const wire::KeyEntry& entry : state_.entries)
        if (entry.secret) stamped.emplace_back(entry.stamp, entry.id);
    std::ranges::sort(stamped, std::ranges::greater{});
    std::vector<KeyId> ids;
    ids.reserve(stamped.size());
    for (const auto& [stamp, id] : stamped) ids.push_back(id);
    return ids;
}

std::uint64_t KeyRing::hash() const {
    if (state_ == wire::Keys{}) return 0;
    std::uint64_t hash = hash64(state_.primary.value, state_.primary_stamp);
    for (const wire::KeyEntry& entry : state_.entries)
        hash = hash64(entry.id.value, entry.stamp << 1 | (entry.secret ? 1 : 0), hash);
    return hash != 0 ? hash : 1;
}

LinkKeys KeyRing::link_keys() const {
    return {primary_, installed_};
}

}  // namespace exa::membership
