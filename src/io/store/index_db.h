// IndexDb: what the store must know again after a restart, in RocksDB: one small record an entry.
//
// The name of a record is the segment's key and its place, so that the record of a new version of a key and that of the
// old one never meet: each is written and deleted for itself, in whatever order threads come. RocksDB's exceptions and
// types stop here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "io/store/segment_store.h"
#include "kv/store_index.h"

namespace exa::io::store {

class IndexDb {
  public:
    // A damaged index is put aside (`rebuilt` is then true) and an empty one begun: a cache that is lost is a miss.
    static Result<std::unique_ptr<IndexDb>> open(const std::filesystem::path& directory, Durability durability,
                                                 bool direct_io);
    virtual ~IndexDb() = default;

    virtual bool rebuilt() const = 0;

    // Every entry in the order of keys, also two of one key after a crash. Unreadable records are deleted.
    virtual std::vector<kv::StoreEntry> load() = 0;
    // From the first key after `after`, up to `limit`.
    virtual std::vector<kv::StoreEntry> page(const std::optional<kv::SegmentKey>& after, std::size_t limit) const = 0;

    // Survives what the durability says when it returns true.
    virtual bool put(std::span<const kv::StoreEntry> entries) = 0;
    // In the log as puts are, but never waited for: an entry that comes back after a crash does not verify.
    virtual bool erase(std::span<const kv::StoreEntry> entries) = 0;
    // New times of last use of entries that are there: outside the log.
    virtual bool refresh(std::span<const kv::StoreEntry> entries) = 0;

    // What is in memory goes to the disk.
    virtual bool flush() = 0;
    // After a write failed for want of room.
    virtual void resume() = 0;
};

}  // namespace exa::io::store
