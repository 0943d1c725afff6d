// RespValueCache: the values of the Redis port that are in memory, for all threads, and the stamps of what is written.
//
// It is also where the memory of values is accounted for, wherever they are: a buffer counts from its making until the
// last answer that shows it is sent. When all of it is taken, values that may go are dropped, and then a new one is
// refused.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "app/resp/counters.h"
#include "app/resp/deps.h"
#include "app/resp/memory.h"
#include "app/resp/version.h"
#include "kv/hybrid_clock.h"
#include "kv/messages.h"
#include "kv/value_search.h"
#include "resp/reply.h"

namespace exa::app::resp {

struct RespCacheOptions {
    std::uint64_t memory_bytes = 0;         // of values used recently
    std::uint64_t allocated_bytes_max = 0;  // of all buffers that live
    std::uint16_t writer_tag = 0;           // of the stamps of this peer
};

// Thread-safe; no call blocks.
class RespValueCache {
  public:
    RespValueCache(const RespCacheOptions& options, const RespDeps& deps, RespCounters& counters);

    // Memory for a part of a value, whatever there is of it.
    std::shared_ptr<exa::kv::SegmentBuffer> make_buffer(std::size_t bytes);
    // Null: there is no memory for it.
    std::shared_ptr<exa::kv::SegmentBuffer> try_make_buffer(std::size_t bytes);
    // So many bytes count as taken as long as the result is held. Null: there is no memory for them.
    std::shared_ptr<void> reserve(std::uint64_t bytes);

    struct Hit {
        bool is_here = false;
        std::optional<exa::resp::Value> value;  // nothing: it has expired, or was removed
    };
    // The version of that stamp or a later one. It counts as used.
    Hit find_value(const exa::kv::SegmentKey& key, std::uint64_t stamp_min);
    // The same as it is, not used by that; it shares the parts.
    std::optional<RespVersion> find_version(const exa::kv::SegmentKey& key, std::uint64_t stamp_min) const;
    // As other peers are told of a value or a part of one.
    std::optional<exa::kv::Item> find_item(const exa::kv::SegmentKey& key) const;
    struct Part {
        RespVersion version;
        std::size_t index = 0;
    };
    std::optional<Part> find_part(const exa::kv::SegmentKey& key) const;
    // `stored` is what the disk has; when memory has a later version, that one. An older one in memory is dropped.
    exa::kv::KnownValue known(const exa::kv::KnownValue& stored);
    void touch(std::span<const exa::kv::SegmentKey> keys);
    // A tenant's, written here and not known to be stored elsewhere, from `first` to `last`.
    std::vector<exa::kv::SegmentKey> list_own(std::uint64_t tag, const exa::kv::SegmentKey& first,
                                              const exa::kv::SegmentKey& last) const;

    // Gives `version`, whose parts are filled, a stamp after all that are known of and `after`, and the keys of its
    // parts; it takes the place of what was in memory. The result shares the parts.
    RespVersion write(const exa::kv::SegmentKey& key, RespVersion version, std::uint64_t after);
    // The same of a removal.
    RespVersion remove(const exa::kv::SegmentKey& key, std::uint64_t tag, std::uint64_t after);
    // A change of the version of stamp `base`: a value as for write(), or a removal. Its stamp is the next one after
    // `base`, so that a write at another peer that came since stands. Nothing: there is another version here by now,
    // and nothing has changed.
    std::optional<RespVersion> replace(const exa::kv::SegmentKey& key, RespVersion version, std::uint64_t base);
    // What came from the disk or a peer, unless there is a version as late or one that waits for the disk.
    void remember(const exa::kv::SegmentKey& key, RespVersion version);
    // Unless it waits for the disk.
    void forget(const exa::kv::SegmentKey& key);
    // Drops what `verdict` says is not the last version, and stamps what is written next after it.
    void apply(const exa::kv::SegmentKey& key, const exa::kv::ValueVerdict& verdict);

    // Nothing: it was written over.
    std::optional<RespVersion> version_to_store(const exa::kv::SegmentKey& key, std::uint64_t stamp) const;
    void handle_stored(const exa::kv::SegmentKey& key, std::uint64_t stamp, bool on_disk);
    void handle_acked(const exa::kv::Item& item);
    void observe(std::uint64_t stamp);

    struct Usage {
        std::uint64_t values = 0;
        std::uint64_t waiting_values = 0;  // of them, for the disk
        std::uint64_t recent_bytes = 0;    // without those that wait
    };
    Usage usage() const;

  private:
    // With mutex_ held.
    bool make_room(std::uint64_t bytes);
    const RespMemory::Entry* find(const exa::kv::SegmentKey& key, std::uint64_t stamp_min) const;

    const RespCacheOptions options_;
    const RespDeps& deps_;
    RespCounters& counters_;
    // Outlives this object in answers on their way.
    const std::shared_ptr<std::atomic<std::uint64_t>> allocated_ = std::make_shared<std::atomic<std::uint64_t>>(0);

    mutable std::mutex mutex_;
    exa::kv::HybridClock clock_;
    RespMemory memory_;
};

}  // namespace exa::app::resp
