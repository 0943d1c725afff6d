// KvCounters: what has been done with segments, counted by every part of a KvService.
#pragma once

#include <atomic>
#include <cstdint>

namespace exa::app::kv {

// Thread-safe; the meanings are those of KvStats.
struct KvCounters {
    using Counter = std::atomic<std::uint64_t>;

    Counter finished = 0;
    Counter dropped = 0;
    Counter refused = 0;
    Counter loads = 0;
    Counter hits_memory = 0;
    Counter hits_disk = 0;
    Counter hits_peers = 0;
    Counter hits_cold = 0;
    Counter misses = 0;
    Counter scrubbed = 0;
    Counter scrub_dropped = 0;
    Counter scrub_rounds = 0;
};

}  // namespace exa::app::kv
