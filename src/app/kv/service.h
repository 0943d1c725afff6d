// KvService: the KV cache of one peer outside its replicas, shared by all of them: segments used recently in memory,
// then the disk, then other peers, then a directory that all share (io/cold).
//
// It composes the users of those tiers and answers for all of them: KvWriteBehind stores what replicas finish,
// KvChainFetch brings what prompts begin with, KvLookup finds a segment at this peer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "app/kv/chain_fetch.h"
#include "app/kv/counters.h"
#include "app/kv/lookup.h"
#include "app/kv/memory.h"
#include "app/kv/sessions.h"
#include "app/kv/tiers.h"
#include "app/kv/values_link.h"
#include "app/kv/write_behind.h"
#include "app/shared/work_queue.h"
#include "base/time.h"
#include "io/cold/cold_store.h"
#include "io/store/segment_store.h"
#include "kv/messages.h"
#include "kv/segment.h"

namespace exa::app::kv {

struct KvServiceConfig {
    std::uint64_t memory_bytes = 256ull << 20;
    // Of finished segments that wait to be stored.
    std::uint64_t queue_bytes_max = 64ull << 20;
    std::uint32_t loaders = 2;
};

struct KvStats {
    std::uint64_t memory_segments = 0;
    std::uint64_t memory_bytes = 0;
    std::uint64_t queued_segments = 0;  // finished, and not stored yet
    std::uint64_t queued_bytes = 0;
    std::uint64_t finished = 0;  // taken from replicas
    std::uint64_t dropped = 0;   // not taken: the queue was full
    std::uint64_t refused = 0;   // by the disk
    std::uint64_t loads = 0;     // prompts whose segments were asked for
    std::uint64_t hits_memory = 0;
    std::uint64_t hits_disk = 0;
    std::uint64_t hits_peers = 0;
    std::uint64_t hits_cold = 0;  // read by this peer for itself; what an owner read for it is a peer's hit
    std::uint64_t misses = 0;     // loads that ended before their last segment
    // Read on the disk to be verified; of these, bad ones; rounds over the whole disk.
    std::uint64_t scrubbed = 0;
    std::uint64_t scrub_dropped = 0;
    std::uint64_t scrub_rounds = 0;
    std::optional<io::store::StoreStats> disk{};
    std::optional<node::KvReplicatorStatus> peers{};
    std::optional<KvValuesStats> values{};
    std::optional<io::cold::ColdStats> cold{};
};

class KvService {
  public:
    using WallClock = std::function<WallTime()>;

    // `wall` is thread-safe. Without a disk, memory is all there is. `cold`, if not null, gets what ages on the disk.
    KvService(const KvServiceConfig& config, const exa::kv::SegmentSealer& sealer,
              std::unique_ptr<io::store::SegmentStore> disk, WallClock wall,
              std::unique_ptr<io::cold::ColdStore> cold = nullptr);
    ~KvService();  // stops
    KvService(const KvService&) = delete;
    KvService& operator=(const KvService&) = delete;

    // Stores what is queued, ends what is being loaded, runs what was posted, and joins the threads. From then on
    // nothing is kept or found. From one thread; idempotent.
    void stop();

    // Once, before anything is loaded.
    void set_peers(KvPeers& peers);

    // The values of the Redis port; null: none any more. Returns when nobody uses the former ones.
    void set_values(KvValues* values) { values_.set(values); }

    // All of these are thread-safe, and none blocks on a disk.

    // Whether it is here, or on its way: then it counts as used, and need not be offered. Of a chain the first segments
    // are best asked for last: those used longest ago go first, and without the first the others are of no use.
    bool has(const exa::kv::SegmentKey& key);
    // As of KvWriteBehind.
    bool has_room(std::size_t bytes) { return writer_.has_room(bytes); }
    void offer(const exa::kv::SegmentHead& head, std::shared_ptr<exa::kv::SegmentBuffer> buffer) {
        writer_.offer(head, std::move(buffer));
    }
    // Used now. Null when it is not in memory, which says nothing of the disk.
    exa::kv::SealedSegment find_in_memory(const exa::kv::SegmentKey& key) { return memory_.find(key); }
    // As KvLookup::items().
    std::vector<exa::kv::Item> look(std::span<const exa::kv::SegmentKey> keys) { return lookup_.items(keys); }
    // What is on the disk.
    std::optional<exa::kv::Item> find_stored(const exa::kv::SegmentKey& key) const;
    std::vector<exa::kv::Item> list_stored(const std::optional<exa::kv::SegmentKey>& after, std::size_t limit) const;
    // The longest run of `keys` that can be had. What is in memory comes within the call.
    void load(std::vector<exa::kv::SegmentKey> keys, KvSink sink, const exa::kv::FetchTerms& terms = {}) {
        chains_.load(std::move(keys), std::move(sink), terms);
    }
    // For another peer: from memory, the disk, or else the cold tier. `done` is called once, here or from any thread,
    // with null for what cannot be had; or never, when the service stops.
    void fetch(const exa::kv::SegmentKey& key, std::function<void(exa::kv::SealedSegment)> done);
    KvStats stats() const;

    // The owners of this version of a value have it or a later one, and this peer is none of them: its disk need not
    // keep it.
    void drop_surplus(const exa::kv::Item& item);
    // A stamp that another peer has given.
    void observe(std::uint64_t stamp);

    // Runs `work` on one of the threads that may block on the disk. False after stop(): it does not run.
    bool post(std::function<void()> work);

    KvSessions& sessions() { return sessions_; }

    // Null: none has been set.
    KvPeers* peers() const { return peers_; }
    // Null: there is none.
    io::cold::ColdStore* cold() const { return cold_.get(); }

    // Where a segment is, without using it.
    KvLookup::Place locate(const exa::kv::SegmentKey& key) const { return lookup_.locate(key); }

    // For work that was posted: these block on the disk.
    exa::kv::SealedSegment get(const exa::kv::SegmentKey& key);
    io::store::PutOutcome put(const exa::kv::SegmentHead& head, std::shared_ptr<exa::kv::SegmentBuffer> buffer);
    // Stores what came from a peer and was verified.
    io::store::PutOutcome take(const exa::kv::SealedSegment& segment);
    // Whether it was here.
    bool erase(const exa::kv::SegmentKey& key);
    // As SegmentStore::scrub(); what was bad is looked for at peers.
    io::store::ScrubReport scrub(const std::optional<exa::kv::SegmentKey>& after, std::size_t count);
    // Null: there is none.
    io::store::SegmentStore* disk() { return disk_.get(); }

  private:
    // What of the disk is to be kept in the cold tier.
    class Aging final : public io::cold::AgingSegments {
      public:
        explicit Aging(KvService& service) : service_(service) {}
        std::vector<exa::kv::SegmentKey> next_to_go(std::size_t count) override {
            return service_.disk_->next_to_go(service_.wall_(), count);
        }
        exa::kv::SealedSegment peek(const exa::kv::SegmentKey& key) override { return service_.disk_->peek(key); }
        void mark_persisted(const exa::kv::SegmentKey& key) override { service_.disk_->mark_persisted(key); }

      private:
        KvService& service_;
    };

    const exa::kv::SegmentSealer& sealer_;
    const std::unique_ptr<io::store::SegmentStore> disk_;  // null: none
    const WallClock wall_;
    Aging aging_{*this};
    const std::unique_ptr<io::cold::ColdStore> cold_;  // null: none
    KvPeers* peers_ = nullptr;
    KvSessions sessions_;
    KvValuesLink values_;
    KvCounters counters_;
    KvMemory memory_;
    KvWriteBehind writer_;
    shared::WorkQueue workers_;
    KvLookup lookup_;
    KvChainFetch chains_;
};

}  // namespace exa::app::kv
