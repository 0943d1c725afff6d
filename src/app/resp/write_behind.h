// RespWriteBehind: stores what was written after the client has heard of it, as Redis with appendfsync everysec does,
// and then offers it to its owners.
//
// Threads take the oldest write first; what was written over meanwhile is not stored. What waits is bounded: past that
// a write is answered when there is room again. Without a disk, writes only go to the owners.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "app/resp/counters.h"
#include "app/resp/deps.h"
#include "app/resp/value_cache.h"
#include "app/resp/version.h"
#include "resp/operation.h"

namespace exa::app::resp {

struct RespWriteOptions {
    std::uint64_t queue_bytes_max = 0;  // of values that wait for the disk
    std::uint32_t threads = 2;          // with a disk
};

class RespWriteBehind {
  public:
    using Done = std::function<void(exa::resp::Outcome)>;

    RespWriteBehind(const RespWriteOptions& options, const RespDeps& deps, RespValueCache& cache,
                    RespCounters& counters);
    ~RespWriteBehind() { stop(); }
    RespWriteBehind(const RespWriteBehind&) = delete;
    RespWriteBehind& operator=(const RespWriteBehind&) = delete;

    // `version` is in the cache. Calls `done`, if not null, once: within the call, or when there is room. Thread-safe.
    void add(const RespVersion& version, Done done);
    // Of what waits; also of what has been written over since. Thread-safe.
    std::uint64_t queued_bytes() const;
    // Stores what waits, answers the writes that wait for room, and joins the threads. Idempotent, from one thread;
    // nothing is added after it.
    void stop();

  private:
    struct Write {
        exa::kv::SegmentKey key;
        std::uint64_t stamp = 0;
        std::uint64_t bytes = 0;
    };

    void run(const std::stop_token& stopping);
    // Whether the disk has taken it.
    bool store(const RespVersion& version);
    void offer_to_owners(const RespVersion& version);
    // With mutex_ held: those for which there is room now.
    std::vector<Done> take_answerable();

    const RespWriteOptions options_;
    const RespDeps& deps_;
    RespValueCache& cache_;
    RespCounters& counters_;

    mutable std::mutex mutex_;
    std::deque<Write> queue_;
    std::uint64_t queued_bytes_ = 0;
    std::deque<Done> waiting_;  // for room
    std::condition_variable_any filled_;
    std::vector<std::jthread> threads_;
};

}  // namespace exa::app::resp
