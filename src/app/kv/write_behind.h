// KvWriteBehind: seals and stores segments after those that made them have gone on.
//
// Writing is never in the way of a generation: what replicas finish waits in a bounded queue for a thread that seals
// it, keeps it in memory and writes it to the disk; when the queue is full, the newest is not kept, which is legal.
// What came from a peer or the cold tier is sealed already and waits in the same queue, but peers are not told of it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>
#include <vector>

#include "app/kv/counters.h"
#include "app/kv/memory.h"
#include "app/kv/tiers.h"
#include "base/time.h"
#include "io/store/segment_store.h"
#include "kv/segment.h"

namespace exa::app::kv {

class KvWriteBehind {
  public:
    using WallClock = std::function<WallTime()>;

    // `queue_bytes_max`: of segments that wait to be stored. Without a disk (null) they are sealed and in memory only.
    KvWriteBehind(std::uint64_t queue_bytes_max, const exa::kv::SegmentSealer& sealer, KvMemory& memory,
                  io::store::SegmentStore* disk, WallClock wall, KvCounters& counters);
    ~KvWriteBehind() { stop(); }
    KvWriteBehind(const KvWriteBehind&) = delete;
    KvWriteBehind& operator=(const KvWriteBehind&) = delete;

    // Once, before anything is offered: hears of what was made here and stored.
    void set_peers(KvPeers& peers) { peers_ = &peers; }

    // All of these are thread-safe, and none blocks on the disk.

    // Whether the queue takes a segment of so many bytes; if not, it counts as dropped.
    bool has_room(std::size_t bytes);
    // Of `head` key, parent, tenant and tokens are filled; the payload stands in `buffer` after room for a header.
    void offer(const exa::kv::SegmentHead& head, std::shared_ptr<exa::kv::SegmentBuffer> buffer);
    // What came sealed and was verified, if there is room and a disk.
    void keep(const exa::kv::SegmentHead& head, const exa::kv::SealedSegment& segment);
    // Not sealed yet: neither in memory nor on the disk.
    bool is_queued(const exa::kv::SegmentKey& key) const;
    // Seals it now if it is queued: the disk may be slow with what is before it. Returns when it is in memory, if it
    // was queued; false when `stopping` came first.
    bool bring_forward(const exa::kv::SegmentKey& key, const std::stop_token& stopping);

    struct Usage {
        std::uint64_t segments = 0;  // that wait for the disk
        std::uint64_t bytes = 0;
    };
    Usage usage() const;

    // From then on nothing is taken.
    void close();
    bool is_closed() const;
    // Closes, stores what is queued, and joins the thread. Idempotent, from one thread.
    void stop();

  private:
    // What a replica has finished, in `buffer`, once it is sealed in `sealed` as well; or what came sealed.
    struct Finished {
        exa::kv::SegmentHead head;
        std::shared_ptr<exa::kv::SegmentBuffer> buffer;
        exa::kv::SealedSegment sealed;
    };

    void run(const std::stop_token& stopping);
    void seal(Finished& finished);
    void store(std::vector<Finished> batch);

    const std::uint64_t queue_bytes_max_;
    const exa::kv::SegmentSealer& sealer_;
    KvMemory& memory_;
    io::store::SegmentStore* const disk_;
    const WallClock wall_;
    KvCounters& counters_;
    KvPeers* peers_ = nullptr;

    mutable std::mutex mutex_;
    std::deque<Finished> queue_;
    std::set<exa::kv::SegmentKey> queued_;  // those in `queue_` and those being sealed
    Usage usage_;
    bool closed_ = false;
    std::condition_variable_any filled_;
    std::condition_variable_any sealed_;  // something left queued_
    std::jthread writer_;
};

}  // namespace exa::app::kv
