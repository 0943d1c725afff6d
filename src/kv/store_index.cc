#include "kv/store_index.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace exa::kv {

namespace {

// A use that is later by less than this is not written: the order of eviction after a restart is that coarse.
constexpr std::uint32_t use_grain_s = 60;
// Entries that one call of next_to_go() examines: less than a millisecond.
constexpr std::size_t visits_max = 16'384;

std::uint32_t seconds(WallTime now) {
    return static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(now.unix_seconds(), 0, std::numeric_limits<std::uint32_t>::max()));
}

// Values of the Redis port that belong together begin with the same eight bytes.
std::size_t home_of(const SegmentKey& key) {
    std::uint64_t second = 0;
    for (std::size_t i = 16; i-- > 8;) second = second << 8 | key.bytes[i];
    return static_cast<std::size_t>(mix64(placement(key) + second));
}

}  // namespace

StoreIndex::StoreIndex(const StoreLimits& limits) : limits_(limits) {
    EXA_CHECK(limits.low_water <= limits.high_water && limits.high_water <= 1.0);
}

std::uint64_t StoreIndex::mark(double share) const {
    return static_cast<std::uint64_t>(static_cast<double>(limits_.capacity_bytes) * share);
}

std::uint64_t StoreIndex::tenant_bytes(std::uint64_t tenant) const {
    const std::uint32_t* index = tenant_by_tag_.find(tenant);
    return index == nullptr ? 0 : tenants_[*index].bytes;
}

std::optional<StoreEntry> StoreIndex::find(WallTime now, const SegmentKey& key) const {
    const std::uint32_t node = node_of(key);
    if (node == none || expired(nodes_[node], seconds(now))) return std::nullopt;
    return entry_of(nodes_[node]);
}

bool StoreIndex::stands(const SegmentKey& key, std::uint64_t place) const {
    const std::uint32_t node = node_of(key);
    return node != none && nodes_[node].place == place;
}

bool StoreIndex::expired(WallTime now, const StoreEntry& entry) const {
    return expired(entry.last_use_s, entry.expires_s, seconds(now));
}

std::vector<StoreEntry> StoreIndex::next_to_go(WallTime now, std::uint64_t lead_bytes, std::uint32_t lead_s,
                                               std::size_t count) const {
    std::vector<StoreEntry> entries;
    const std::uint32_t soon_s = seconds(now) + lead_s;
    const auto walk = [&](std::uint32_t oldest, std::uint32_t Node::* newer, std::uint64_t bytes, std::uint64_t room) {
        std::size_t visits = 0;
        for (std::uint32_t at = oldest; at != none && entries.size() < count && visits < visits_max; ++visits) {
            const Node& node = nodes_[at];
            const bool ends_soon = expired(node.last_use_s, 0, soon_s);
            if (!ends_soon && bytes <= room) return;
            bytes -= std::min<std::uint64_t>(bytes, whole_blocks(node.bytes));
            const bool is_named = std::ranges::find(entries, node.key, &StoreEntry::key) != entries.end();
            if (node.kind == SegmentKind::segment && !node.persisted && !is_named) entries.push_back(entry_of(node));
            at = node.*newer;
        }
    };
    walk(all_.oldest, &Node::newer, physical_bytes() + lead_bytes, mark(limits_.low_water));
    for (const Tenant& tenant : tenants_)
        if (const std::uint64_t quota = quota_of(tenant); quota != 0)
            walk(tenant.list.oldest, &Node::tenant_newer, tenant.bytes + std::min(lead_bytes, quota / 16), quota);
    return entries;
}

void StoreIndex::mark_persisted(const SegmentKey& key) {
    if (const std::uint32_t node = node_of(key); node != none) nodes_[node].persisted = 1;
}

void StoreIndex::set_quota(std::uint64_t tenant, std::uint64_t bytes) {
    const std::uint32_t index = tenant_of(tenant);
    if (bytes == 0) {
        tenants_[index].quota.reset();
        forget_if_empty(index);
    } else {
        tenants_[index].quota = bytes;
    }
}

void StoreIndex::restore(const StoreEntry& entry) {
    if (const std::uint32_t old = node_of(entry.key); old != none) remove(old);
    insert(entry);
}

void StoreIndex::order_by_use() {
    std::vector<std::uint32_t> order;
    order.reserve(size_);
    for (std::uint32_t node = all_.oldest; node != none; node = nodes_[node].newer) order.push_back(node);
    std::ranges::sort(order, {}, [&](std::uint32_t node) -> std::pair<std::uint32_t, const SegmentKey&> {
        return {nodes_[node].last_use_s, nodes_[node].key};
    });
    for (const std::uint32_t node : order) {
        unlink(node);
        link(node);
    }
}

Admission StoreIndex::admit(WallTime now, const StoreEntry& entry, std::vector<StoreEntry>& gone) {
    end_leases(now);
    const std::uint64_t wanted = entry.physical();
    if (const std::uint32_t old = node_of(entry.key); old != none) {
        const bool dead = expired(nodes_[old], seconds(now));
        const bool newer = entry.kind != SegmentKind::segment && entry.stamp > nodes_[old].stamp;
        if (!dead && !newer) {
            move_to_front(old, seconds(now));
            return Admission::present;
        }
        if (dead && !newer) {
            gone.push_back(entry_of(nodes_[old]));
            remove(old);
        }
    }
    const std::uint32_t tenant = tenant_of(entry.tenant);
    // From here on the tenant stays, whichever of its entries is evicted.
    tenants_[tenant].reserved += wanted;
    const Admission admission = find_room(now, tenant, wanted, gone);
    if (admission == Admission::admitted) {
        reserved_bytes_ += wanted;
    } else {
        tenants_[tenant].reserved -= wanted;
        forget_if_empty(tenant);
    }
    return admission;
}

Admission StoreIndex::find_room(WallTime now, std::uint32_t tenant, std::uint64_t wanted,
                                std::vector<StoreEntry>& gone) {
    const std::uint64_t quota = quota_of(tenants_[tenant]);
    if (quota != 0 && wanted > quota) return Admission::over_quota;
    if (wanted > mark(limits_.high_water)) return Admission::no_room;
    while (quota != 0 && tenants_[tenant].bytes + tenants_[tenant].reserved > quota)
        if (!drop_oldest(now, tenant, gone)) return Admission::over_quota;
    const std::uint64_t high = mark(limits_.high_water);
    while (physical_bytes() + wanted > high) {
        evicting_ = true;
        if (!drop_oldest(now, none, gone)) break;
    }
    if (physical_bytes() + wanted > limits_.capacity_bytes) return Admission::no_room;
    // Twice what is added, so that each put gets nearer to the low-water mark.
    for (std::uint64_t freed = 0; evicting_ && freed < 2 * wanted;) {
        if (physical_bytes() + wanted <= mark(limits_.low_water)) evicting_ = false;
        const std::size_t before = gone.size();
        if (!evicting_ || !drop_oldest(now, none, gone)) break;
        freed += gone[before].physical();
    }
    return Admission::admitted;
}

std::optional<StoreEntry> StoreIndex::commit(const StoreEntry& entry) {
    abort(entry);
    std::optional<StoreEntry> replaced;
    if (const std::uint32_t old = node_of(entry.key); old != none) {
        if (entry.kind == SegmentKind::segment || entry.stamp <= nodes_[old].stamp) return entry;
        replaced = entry_of(nodes_[old]);
        remove(old);
    }
    insert(entry);
    return replaced;
}

void StoreIndex::abort(const StoreEntry& entry) {
    EXA_CHECK(reserved_bytes_ >= entry.physical());
    reserved_bytes_ -= entry.physical();
    const std::uint32_t tenant = tenant_of(entry.tenant);
    tenants_[tenant].reserved -= entry.physical();
    forget_if_empty(tenant);
}

std::optional<StoreEntry> StoreIndex::use(WallTime now, const SegmentKey& key) {
    const std::uint32_t node = node_of(key);
    if (node == none || expired(nodes_[node], seconds(now))) return std::nullopt;
    move_to_front(node, seconds(now));
    return entry_of(nodes_[node]);
}

bool StoreIndex::lease(WallTime now, const SegmentKey& key) {
    end_leases(now);
    const std::uint32_t node = node_of(key);
    if (node == none || expired(nodes_[node], seconds(now))) return false;
    move_to_front(node, seconds(now));
    Tenant& tenant = tenants_[nodes_[node].tenant];
    const std::int64_t end = std::max(now.unix_us + limits_.lease.count(), last_lease_end_ + 1);
    if (const std::int64_t* held = lease_ends_.find(node)) {
        // Renewed in its second half only, so that the queue holds no more than three terms of a lease.
        if (*held - now.unix_us > limits_.lease.count() / 2) return true;
    } else {
        if (tenant.leases >= limits_.leases_per_tenant_max) return true;
        ++tenant.leases;
    }
    lease_ends_.put(node, end);
    lease_queue_.emplace_back(end, node);
    last_lease_end_ = end;
    return true;
}

std::optional<StoreEntry> StoreIndex::erase(const SegmentKey& key) {
    const std::uint32_t node = node_of(key);
    if (node == none) return std::nullopt;
    const StoreEntry entry = entry_of(nodes_[node]);
    remove(node);
    return entry;
}

void StoreIndex::make_room(WallTime now, std::size_t count, std::vector<StoreEntry>& gone) {
    end_leases(now);
    const std::uint32_t now_s = seconds(now);
    const std::size_t end = gone.size() + count;
    while (gone.size() < end && !by_expiry_.empty() && by_expiry_.begin()->first <= now_s)
        drop(by_expiry_.begin()->second, gone);
    while (gone.size() < end && all_.oldest != none && expired(nodes_[all_.oldest], now_s)) drop(all_.oldest, gone);
    for (std::uint32_t i = 0; i < tenants_.size(); ++i) {
        const std::uint64_t quota = quota_of(tenants_[i]);
        while (gone.size() < end && quota != 0 && tenants_[i].bytes > quota)
            if (!drop_oldest(now, i, gone)) break;
    }
    if (physical_bytes() > mark(limits_.high_water)) evicting_ = true;
    while (evicting_ && gone.size() < end) {
        if (physical_bytes() <= mark(limits_.low_water)) evicting_ = false;
        if (evicting_ && !drop_oldest(now, none, gone)) break;
    }
}

std::vector<StoreEntry> StoreIndex::take_touched(std::size_t count) {
    std::vector<StoreEntry> entries;
    while (!touched_.empty() && entries.size() < count) {
        Node& node = nodes_[touched_.back()];
        touched_.pop_back();
        // Removed since, or its place taken by another and that one written.
        if (!node.touched) continue;
        node.touched = 0;
        node.written_use_s = node.last_use_s;
        entries.push_back(entry_of(node));
    }
    return entries;
}

std::uint32_t StoreIndex::slot_of(const SegmentKey& key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = home_of(key) & mask;
    while (slots_[slot] != none && nodes_[slots_[slot]].key != key) slot = (slot + 1) & mask;
    return static_cast<std::uint32_t>(slot);
}

std::uint32_t StoreIndex::node_of(const SegmentKey& key) const {
    return size_ == 0 ? none : slots_[slot_of(key)];
}

void StoreIndex::grow_slots() {
    std::vector<std::uint32_t> old(slots_.empty() ? 64 : slots_.size() * 2, none);
    old.swap(slots_);
    for (const std::uint32_t node : old)
        if (node != none) slots_[slot_of(nodes_[node].key)] = node;
}

std::uint32_t StoreIndex::tenant_of(std::uint64_t tag) {
    if (const std::uint32_t* index = tenant_by_tag_.find(tag)) return *index;
    std::uint32_t index = static_cast<std::uint32_t>(tenants_.size());
    if (free_tenants_.empty()) {
        tenants_.emplace_back();
    } else {
        index = free_tenants_.back();
        free_tenants_.pop_back();
    }
    tenants_[index] = {};
    tenants_[index].tag = tag;
    tenant_by_tag_.put(tag, index);
    return index;
}

void StoreIndex::forget_if_empty(std::uint32_t tenant) {
    const Tenant& self = tenants_[tenant];
    if (self.entries != 0 || self.reserved != 0 || self.quota.has_value()) return;
    tenant_by_tag_.erase(self.tag);
    tenants_[tenant] = {};
    free_tenants_.push_back(tenant);
}

std::uint64_t StoreIndex::quota_of(const Tenant& tenant) const {
    return tenant.quota.value_or(limits_.tenant_quota_bytes);
}

StoreEntry StoreIndex::entry_of(const Node& node) const {
    return {node.key,   tenants_[node.tenant].tag, node.stamp,     node.place,
            node.bytes, node.last_use_s,           node.expires_s, node.kind};
}

void StoreIndex::link(std::uint32_t node) {
    Node& self = nodes_[node];
    List& mine = tenants_[self.tenant].list;
    self.newer = none;
    self.older = all_.newest;
    self.tenant_newer = none;
    self.tenant_older = mine.newest;
    if (self.older != none) nodes_[self.older].newer = node;
    if (self.tenant_older != none) nodes_[self.tenant_older].tenant_newer = node;
    all_.newest = mine.newest = node;
    if (all_.oldest == none) all_.oldest = node;
    if (mine.oldest == none) mine.oldest = node;
}

void StoreIndex::unlink(std::uint32_t node) {
    const Node& self = nodes_[node];
    List& mine = tenants_[self.tenant].list;
    (self.newer == none ? all_.newest : nodes_[self.newer].older) = self.older;
    (self.older == none ? all_.oldest : nodes_[self.older].newer) = self.newer;
    (self.tenant_newer == none ? mine.newest : nodes_[self.tenant_newer].tenant_older) = self.tenant_older;
    (self.tenant_older == none ? mine.oldest : nodes_[self.tenant_older].tenant_newer) = self.tenant_newer;
}

void StoreIndex::move_to_front(std::uint32_t node, std::uint32_t now_s) {
    unlink(node);
    link(node);
    Node& self = nodes_[node];
    self.last_use_s = now_s;
    if (self.touched || (now_s < self.written_use_s + use_grain_s && now_s >= self.written_use_s)) return;
    self.touched = 1;
    touched_.push_back(node);
}

std::uint32_t StoreIndex::insert(const StoreEntry& entry) {
    if ((size_ + 1) * 4 > slots_.size() * 3) grow_slots();
    std::uint32_t node = static_cast<std::uint32_t>(nodes_.size());
    if (free_.empty()) {
        nodes_.emplace_back();
    } else {
        node = free_.back();
        free_.pop_back();
    }
    Node& self = nodes_[node];
    self = {};
    self.key = entry.key;
    self.stamp = entry.stamp;
    self.place = entry.place;
    self.bytes = entry.bytes;
    self.last_use_s = self.written_use_s = entry.last_use_s;
    self.expires_s = entry.expires_s;
    self.kind = entry.kind;
    self.tenant = tenant_of(entry.tenant);
    slots_[slot_of(entry.key)] = node;
    ++size_;
    Tenant& tenant = tenants_[self.tenant];
    ++tenant.entries;
    tenant.bytes += entry.physical();
    sealed_bytes_ += entry.bytes;
    entry_bytes_ += entry.physical();
    if (entry.expires_s != 0) by_expiry_.emplace(entry.expires_s, node);
    link(node);
    return node;
}

void StoreIndex::remove(std::uint32_t node) {
    Node& self = nodes_[node];
    const std::size_t mask = slots_.size() - 1;
    // An entry after the hole whose search starts before it moves into it (Knuth, TAOCP 3, 6.4 R).
    std::size_t hole = slot_of(self.key);
    for (std::size_t at = (hole + 1) & mask; slots_[at] != none; at = (at + 1) & mask) {
        const std::size_t home = home_of(nodes_[slots_[at]].key) & mask;
        if (((at - home) & mask) < ((at - hole) & mask)) continue;
        slots_[hole] = slots_[at];
        hole = at;
    }
    slots_[hole] = none;
    --size_;

    unlink(node);
    const std::uint64_t physical = whole_blocks(self.bytes);
    sealed_bytes_ -= self.bytes;
    entry_bytes_ -= physical;
    if (self.expires_s != 0) by_expiry_.erase({self.expires_s, node});
    Tenant& tenant = tenants_[self.tenant];
    if (lease_ends_.erase(node)) --tenant.leases;
    tenant.bytes -= physical;
    --tenant.entries;
    forget_if_empty(self.tenant);
    self.touched = 0;
    free_.push_back(node);
}

bool StoreIndex::expired(std::uint32_t last_use_s, std::uint32_t expires_s, std::uint32_t now_s) const {
    if (expires_s != 0 && expires_s <= now_s) return true;
    return limits_.ttl_s != 0 && now_s > last_use_s && now_s - last_use_s > limits_.ttl_s;
}

bool StoreIndex::leased(std::uint32_t node, WallTime now) const {
    const std::int64_t* end = lease_ends_.find(node);
    // A clock that was set back does not make a lease longer.
    return end != nullptr && *end > now.unix_us && *end - now.unix_us <= 2 * limits_.lease.count();
}

void StoreIndex::end_leases(WallTime now) {
    while (!lease_queue_.empty()) {
        const auto [end, node] = lease_queue_.front();
        if (end > now.unix_us && end - now.unix_us <= 2 * limits_.lease.count()) return;
        lease_queue_.pop_front();
        const std::int64_t* held = lease_ends_.find(node);
        if (held == nullptr || *held != end) continue;
        --tenants_[nodes_[node].tenant].leases;
        lease_ends_.erase(node);
    }
    last_lease_end_ = 0;
}

bool StoreIndex::drop_oldest(WallTime now, std::uint32_t tenant, std::vector<StoreEntry>& gone) {
    std::uint32_t node = tenant == none ? all_.oldest : tenants_[tenant].list.oldest;
    while (node != none && leased(node, now)) node = tenant == none ? nodes_[node].newer : nodes_[node].tenant_newer;
    if (node == none) return false;
    drop(node, gone);
    return true;
}

void StoreIndex::drop(std::uint32_t node, std::vector<StoreEntry>& gone) {
    if (nodes_[node].kind == SegmentKind::segment && !nodes_[node].persisted) ++gone_unpersisted_;
    gone.push_back(entry_of(nodes_[node]));
    remove(node);
}

}  // namespace exa::kv
