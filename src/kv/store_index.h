// StoreIndex: which segments a store holds, and which of them it evicts when there is no room.
//
// The whole index is in memory, below 110 bytes an entry, so that a lookup costs no disk access. Entries of all tenants
// form one list in the order of their last use, and those of each tenant another. Room is counted in physical bytes:
// whole blocks of the entries and the `overhead` that the store reports (its own index, room prepared but not filled).
// Above the high-water mark entries are evicted, the least recently used first, a few with each put, down to the
// low-water mark; no put exceeds the capacity. An entry under a lease is not evicted; leases are short and bounded for
// each tenant, so they cannot fill a store.
//
// A put takes three steps, between which the caller writes: admit() finds room, reserves it and reports the evicted
// entries; commit() enters what was written, or abort() gives the room back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/flat_map.h"
#include "base/time.h"
#include "kv/segment.h"

namespace exa::kv {

struct StoreLimits {
    std::uint64_t capacity_bytes = 0;
    double high_water = 0.97;  // of the capacity
    double low_water = 0.94;
    std::uint64_t tenant_quota_bytes = 0;  // of each tenant without its own; 0: none
    std::uint32_t ttl_s = 0;               // since the last use; 0: for good
    Duration lease = std::chrono::seconds(5);
    std::uint32_t leases_per_tenant_max = 1024;
};

// Only the store interprets `place`. Times are Unix seconds.
struct StoreEntry {
    SegmentKey key;
    std::uint64_t tenant = 0;
    std::uint64_t stamp = 0;
    std::uint64_t place = 0;
    std::uint32_t bytes = 0;  // sealed
    std::uint32_t last_use_s = 0;
    std::uint32_t expires_s = 0;  // 0: never
    SegmentKind kind = SegmentKind::segment;
    bool operator==(const StoreEntry&) const = default;

    std::uint64_t physical() const { return whole_blocks(bytes); }
};

enum class Admission : std::uint8_t { admitted, present, no_room, over_quota };

class StoreIndex {
  public:
    explicit StoreIndex(const StoreLimits& limits);

    // Getters.
    std::size_t size() const { return size_; }
    std::uint64_t sealed_bytes() const { return sealed_bytes_; }
    // Entries, reservations and overhead.
    std::uint64_t physical_bytes() const { return entry_bytes_ + reserved_bytes_ + overhead_bytes_; }
    std::uint64_t entry_bytes() const { return entry_bytes_; }
    std::uint64_t tenant_bytes(std::uint64_t tenant) const;
    std::size_t leases() const { return lease_ends_.size(); }
    // Neither a use nor a lease. Nothing if it has expired.
    std::optional<StoreEntry> find(WallTime now, const SegmentKey& key) const;
    // Whether the entry is there, at that place.
    bool stands(const SegmentKey& key, std::uint64_t place) const;
    bool expired(WallTime now, const StoreEntry& entry) const;
    // Segments (not values) that are evicted next, the longest unused first, and are not persisted elsewhere: at most
    // `count` of those that `lead_bytes` more would evict, or that expire within `lead_s`.
    std::vector<StoreEntry> next_to_go(WallTime now, std::uint64_t lead_bytes, std::uint32_t lead_s,
                                       std::size_t count) const;
    // Segments that were evicted or expired before they were persisted elsewhere.
    std::uint64_t evicted_unpersisted() const { return gone_unpersisted_; }

    // Commands.
    void set_overhead(std::uint64_t bytes) { overhead_bytes_ = bytes; }
    // The disk may have less room than was configured. What exceeds it is evicted by the next puts, or by make_room().
    void set_capacity(std::uint64_t bytes) { limits_.capacity_bytes = bytes; }
    void set_quota(std::uint64_t tenant, std::uint64_t bytes);

    // An entry from before a restart, in any order; replaces the one under its key. Call order_by_use() after the last.
    void restore(const StoreEntry& entry);
    void order_by_use();

    // The room of an admitted entry is reserved until commit() or abort(); evicted entries are appended to `gone`. A
    // segment is present if its key is; a value if its stamp is not later than that of the entry there.
    Admission admit(WallTime now, const StoreEntry& entry, std::vector<StoreEntry>& gone);
    // Returns the entry that it replaced. If two writers commit the same key, the loser is returned.
    std::optional<StoreEntry> commit(const StoreEntry& entry);
    void abort(const StoreEntry& entry);

    // Like find(), and counts as a use.
    std::optional<StoreEntry> use(WallTime now, const SegmentKey& key);
    // Protects an entry from eviction for StoreLimits::lease, if its tenant has leases left. False when there is no
    // such entry.
    bool lease(WallTime now, const SegmentKey& key);
    std::optional<StoreEntry> erase(const SegmentKey& key);
    // The segment is stored elsewhere, too. Only in memory: after a restart it counts as not persisted.
    void mark_persisted(const SegmentKey& key);

    // Drops what has expired, what exceeds its tenant's quota and, above the high-water mark, the least recently used
    // entries down to the low-water mark: at most `count` entries, appended to `gone`.
    void make_room(WallTime now, std::size_t count, std::vector<StoreEntry>& gone);

    // Up to `count` entries whose last use is a minute or more later than the one on disk.
    std::vector<StoreEntry> take_touched(std::size_t count);

  private:
    static constexpr std::uint32_t none = ~0u;

    struct Node {
        SegmentKey key;
        std::uint64_t stamp;
        std::uint64_t place;
        std::uint32_t bytes;
        std::uint32_t last_use_s;
        std::uint32_t written_use_s;
        std::uint32_t expires_s;
        std::uint32_t tenant;        // into tenants_
        std::uint32_t newer, older;  // in the list of all
        std::uint32_t tenant_newer, tenant_older;
        SegmentKind kind : 8;
        std::uint32_t touched : 1;
        std::uint32_t persisted : 1;
    };

    struct List {
        std::uint32_t newest = none;
        std::uint32_t oldest = none;
    };

    struct Tenant {
        std::uint64_t tag = 0;
        std::uint64_t bytes = 0;     // physical, of the entries
        std::uint64_t reserved = 0;  // admitted and not yet there
        std::optional<std::uint64_t> quota;
        std::uint32_t entries = 0;
        std::uint32_t leases = 0;
        List list;
    };

    struct TagHash {
        std::uint64_t operator()(std::uint64_t tag) const { return mix64(tag); }
    };

    std::uint32_t slot_of(const SegmentKey& key) const;
    std::uint32_t node_of(const SegmentKey& key) const;
    void grow_slots();
    std::uint32_t tenant_of(std::uint64_t tag);
    void forget_if_empty(std::uint32_t tenant);
    std::uint64_t quota_of(const Tenant& tenant) const;
    StoreEntry entry_of(const Node& node) const;

    void link(std::uint32_t node);
    void unlink(std::uint32_t node);
    void move_to_front(std::uint32_t node, std::uint32_t now_s);
    void remove(std::uint32_t node);
    std::uint32_t insert(const StoreEntry& entry);

    bool expired(std::uint32_t last_use_s, std::uint32_t expires_s, std::uint32_t now_s) const;
    bool expired(const Node& node, std::uint32_t now_s) const {
        return expired(node.last_use_s, node.expires_s, now_s);
    }
    bool leased(std::uint32_t node, WallTime now) const;
    void end_leases(WallTime now);
    Admission find_room(WallTime now, std::uint32_t tenant, std::uint64_t wanted, std::vector<StoreEntry>& gone);
    // Drops the least recently used entry that may go, of all or of one tenant. False when there is none.
    bool drop_oldest(WallTime now, std::uint32_t tenant, std::vector<StoreEntry>& gone);
    void drop(std::uint32_t node, std::vector<StoreEntry>& gone);
    std::uint64_t mark(double share) const;

    StoreLimits limits_;
    std::deque<Node> nodes_;  // grows without a copy
    std::vector<std::uint32_t> free_;
    std::vector<std::uint32_t> slots_;  // a power of two of node numbers; linear probing from a hash of the key
    std::size_t size_ = 0;
    std::vector<Tenant> tenants_;
    std::vector<std::uint32_t> free_tenants_;
    FlatMap<std::uint64_t, std::uint32_t, TagHash> tenant_by_tag_;
    List all_;
    std::set<std::pair<std::uint32_t, std::uint32_t>> by_expiry_;  // (expires_s, node), only those that do expire
    std::vector<std::uint32_t> touched_;
    FlatMap<std::uint64_t, std::int64_t, TagHash> lease_ends_;        // by node, Unix microseconds
    std::deque<std::pair<std::int64_t, std::uint32_t>> lease_queue_;  // in the order in which they were given
    std::int64_t last_lease_end_ = 0;
    std::uint64_t sealed_bytes_ = 0;
    std::uint64_t entry_bytes_ = 0;
    std::uint64_t reserved_bytes_ = 0;
    std::uint64_t overhead_bytes_ = 0;
    std::uint64_t gone_unpersisted_ = 0;
    bool evicting_ = false;  // between the crossing of the high-water mark and the reaching of the low-water mark
};

}  // namespace exa::kv
