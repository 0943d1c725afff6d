// RespCounters: what has been done with values, counted by every part of a keyspace.
#pragma once

#include <atomic>
#include <cstdint>

#include "app/kv/tiers.h"

namespace exa::app::resp {

// Thread-safe; the meanings are those of KvValuesStats.
struct RespCounters {
    using Counter = std::atomic<std::uint64_t>;

    Counter sets = 0;
    Counter sets_unmet = 0;
    Counter set_bytes = 0;
    Counter stored = 0;
    Counter overwritten = 0;
    Counter hits_memory = 0;
    Counter hits_disk = 0;
    Counter hits_peers = 0;
    Counter misses = 0;
    Counter got_bytes = 0;
    Counter existing = 0;
    Counter not_existing = 0;
    Counter removed = 0;
    Counter not_removed = 0;
    Counter scans = 0;
    Counter refused = 0;
    Counter searches = 0;
    Counter unsure = 0;

    // Everything but what memory and the queue hold now.
    kv::KvValuesStats read() const {
        kv::KvValuesStats stats;
        stats.sets = sets;
        stats.sets_unmet = sets_unmet;
        stats.set_bytes = set_bytes;
        stats.stored = stored;
        stats.overwritten = overwritten;
        stats.hits_memory = hits_memory;
        stats.hits_disk = hits_disk;
        stats.hits_peers = hits_peers;
        stats.misses = misses;
        stats.got_bytes = got_bytes;
        stats.existing = existing;
        stats.not_existing = not_existing;
        stats.removed = removed;
        stats.not_removed = not_removed;
        stats.scans = scans;
        stats.refused = refused;
        stats.searches = searches;
        stats.unsure = unsure;
        return stats;
    }
};

inline void count(RespCounters::Counter& counter, std::uint64_t by = 1) {
    counter.fetch_add(by, std::memory_order_relaxed);
}

}  // namespace exa::app::resp
