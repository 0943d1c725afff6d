// SegmentStore: sealed segments on this peer's disk, found by key; the warm tier of the cache.
//
// Thread-safe. Calls block on the disk (lookup, has, find and stats do not): they are made from worker threads of the
// KV service, never from an io thread. Time is an argument; its jumps cost misses at worst.
//
// What it promises: get() gives what was put under that key and verifies under the sealer, or nothing; disk errors,
// changed bytes, foreign files are misses, counted in stats(). Never more than `capacity_bytes` on the disk: the least
// recently used go first, and a full disk refuses. What put() called stored survives, by durability: `none` a clean
// close, `wal` the death of the process, `sync` the loss of power.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "base/time.h"
#include "kv/messages.h"
#include "kv/segment.h"

namespace exa::io::store {

enum class Durability : std::uint8_t { none, wal, sync };

struct StoreConfig {
    std::filesystem::path directory;             // made when it is not there; belongs to one process at a time
    std::uint64_t capacity_bytes = 64ull << 30;  // physical, everything in the directory; 64 MiB at least
    Durability durability = Durability::none;
    bool direct_io = true;                     // where the file system has it; else through the page cache
    Duration ttl = std::chrono::hours(24);     // since the last use; 0: unlimited
    std::uint64_t tenant_quota_bytes = 0;      // of each tenant without its own; 0: none
    Duration lease = std::chrono::seconds(5);  // how long has() can keep an entry from being evicted
    std::uint32_t leases_per_tenant_max = 1024;
};

enum class PutOutcome : std::uint8_t {
    stored,
    present,         // the same segment, or a value with this or a later stamp: nothing changed
    refused_full,    // no room, and nothing that may go; or the disk failed
    refused_quota,   // larger than all that its tenant may store
    refused_broken,  // not a sealed segment
};

struct StoredInfo {
    kv::SegmentKey key;
    std::uint64_t tenant = 0;
    std::uint64_t stamp = 0;
    std::uint32_t bytes = 0;  // sealed
    kv::SegmentKind kind = kv::SegmentKind::segment;
};

struct StoreStats {
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;           // sealed bytes of the entries
    std::uint64_t physical_bytes = 0;  // on the disk, as last measured, with what was written since
    std::uint64_t capacity_bytes = 0;
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t stored = 0;
    std::uint64_t refused = 0;
    std::uint64_t evicted = 0;
    std::uint64_t expired = 0;
    std::uint64_t unpersisted =
        0;                      // of the evicted and expired: segments that went before they were persisted elsewhere
    std::uint64_t corrupt = 0;  // entries dropped because they did not verify
    std::uint64_t disk_errors = 0;
    std::uint64_t leases = 0;  // that hold now
};

struct ScrubReport {
    std::uint64_t checked = 0;
    std::uint64_t dropped = 0;
    std::uint64_t bytes = 0;           // read
    std::vector<kv::SegmentKey> lost;  // those dropped
    // Where the next call goes on; nothing: the round has come to its end.
    std::optional<kv::SegmentKey> next;
};

// What survives the process. Its users block on a disk in every call that is not said to answer from memory.
class SegmentStore {
  public:
    // Reads the index only: seconds for terabytes. errc::store_locked when another process has the directory,
    // errc::store_unusable when it cannot be used, errc::store_config when the configuration cannot hold.
    // `sealer` and `log` outlive the store, whose end writes down what is known of recent uses.
    static Result<std::unique_ptr<SegmentStore>> open(const StoreConfig& config, const kv::SegmentSealer& sealer,
                                                      WallTime now, Log& log);
    virtual ~SegmentStore() = default;

    // One outcome for each. The caller has verified what it took from others. Several at a time are written together.
    virtual std::vector<PutOutcome> put(WallTime now, std::span<const kv::SealedSegment> segments) = 0;

    // Verified, and used now. Null is a miss.
    virtual kv::SealedSegment get(WallTime now, const kv::SegmentKey& key) = 0;

    // From memory, an item for each key: of stamp and size 0 where nothing is stored, of size 0 for a tombstone. What
    // is stored counts as used and is held by a lease for config.lease, as far as leases go: the get that follows
    // finds it.
    virtual std::vector<kv::Item> lookup(WallTime now, std::span<const kv::SegmentKey> keys) = 0;
    // As lookup(), of one key. A tombstone is nothing.
    bool has(WallTime now, const kv::SegmentKey& key) { return lookup(now, {&key, 1}).front().bytes > 0; }

    // As lookup(), with neither lease nor use.
    virtual std::optional<StoredInfo> find(const kv::SegmentKey& key) const = 0;

    // How many were here.
    virtual std::size_t erase(std::span<const kv::SegmentKey> keys) = 0;
    // Whether it was here with that stamp.
    virtual bool erase_version(const kv::SegmentKey& key, std::uint64_t stamp) = 0;

    // Up to `limit` entries after `after` in the order of keys (of all, without it): pages for repair and for people.
    virtual std::vector<StoredInfo> list(const std::optional<kv::SegmentKey>& after, std::size_t limit) const = 0;

    // Segments that go next, for room or because nobody used them, and are not persisted elsewhere: up to `limit`, in
    // the order in which they go.
    virtual std::vector<kv::SegmentKey> next_to_go(WallTime now, std::size_t limit) const = 0;
    // As get(), but neither used nor counted by that.
    virtual kv::SealedSegment peek(const kv::SegmentKey& key) = 0;
    // It is kept elsewhere too: next_to_go() does not name it any more.
    virtual void mark_persisted(const kv::SegmentKey& key) = 0;

    // Bytes on the disk that a tenant may use; 0: the configured default. What is over goes at the next put or
    // maintain.
    virtual void set_quota(std::uint64_t tenant, std::uint64_t bytes) = 0;
    virtual std::uint64_t tenant_bytes(std::uint64_t tenant) const = 0;

    // Once a second or so: drops what has expired, evicts down to the low-water mark, writes recent uses down, measures
    // the disk.
    virtual void maintain(WallTime now) = 0;

    // Reads and verifies the `count` entries after `after`, in the order of keys, and drops what is bad; nothing: a
    // round begins. The caller paces.
    virtual ScrubReport scrub(const std::optional<kv::SegmentKey>& after, std::size_t count) = 0;

    virtual StoreStats stats() const = 0;
};

}  // namespace exa::io::store
