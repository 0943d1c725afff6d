// KvChainFetch: the longest run of a prompt's segments that can be had, in order, from memory, the disk, other peers
// and the cold tier.
//
// What is in memory comes within the call. After that, threads that may block read the disk until something is missing;
// then peers bring what they have, and their segments and those of the disk are put together in order.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "app/kv/counters.h"
#include "app/kv/lookup.h"
#include "app/kv/memory.h"
#include "app/kv/tiers.h"
#include "app/kv/write_behind.h"
#include "app/shared/work_queue.h"
#include "base/time.h"
#include "io/store/segment_store.h"
#include "kv/segment.h"

namespace exa::app::kv {

// Thread-safe.
class KvChainFetch {
  public:
    using WallClock = std::function<WallTime()>;

    KvChainFetch(KvMemory& memory, KvWriteBehind& writer, KvLookup& lookup, io::store::SegmentStore* disk,
                 shared::WorkQueue& workers, WallClock wall, KvCounters& counters)
        : memory_(memory),
          writer_(writer),
          lookup_(lookup),
          disk_(disk),
          workers_(workers),
          wall_(std::move(wall)),
          counters_(counters) {}

    // Once, before anything is loaded.
    void set_peers(KvPeers& peers) { peers_ = &peers; }

    void load(std::vector<exa::kv::SegmentKey> keys, KvSink sink, const exa::kv::FetchTerms& terms);
    // What came from a peer or the cold tier is in memory and stored like what was made here.
    void keep(const exa::kv::SealedSegment& segment);

  private:
    struct Assembly;

    void load_from_disk(std::vector<exa::kv::SegmentKey> keys, const KvSink& sink, const exa::kv::FetchTerms& terms,
                        const std::stop_token& stopping);
    void load_with_peers(std::vector<exa::kv::SegmentKey> keys, KvSink sink, const exa::kv::FetchTerms& terms);
    bool accept(const std::shared_ptr<Assembly>& assembly, KvPeers::Arrival arrival);
    void assemble(const std::shared_ptr<Assembly>& assembly, const std::stop_token& stopping);

    KvMemory& memory_;
    KvWriteBehind& writer_;
    KvLookup& lookup_;
    io::store::SegmentStore* const disk_;  // null: none
    shared::WorkQueue& workers_;
    const WallClock wall_;
    KvCounters& counters_;
    KvPeers* peers_ = nullptr;
};

}  // namespace exa::app::kv
