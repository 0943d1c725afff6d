// KvService: the KV cache of one peer outside its replicas, shared by all of them: segments used lately in memory, then
// the disk, then other peers, then a directory that all share (io/cold).
//
// Writing is behind the generation and never in its way: what replicas finish waits in a bounded queue for a thread
// that seals and stores it; when the queue is full, the newest is not kept, which is legal. Loading has threads of its
// own. Several that want the same segment at a time cost one read. A segment is verified where it comes from a disk or
// a peer; what is in memory has been.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "app/kv/memory.h"
#include "app/kv/sessions.h"
#include "app/kv/tiers.h"
#include "base/log.h"
#include "base/time.h"
#include "io/cold/cold_store.h"
#include "io/store/segment_store.h"
#include "kv/messages.h"
#include "kv/segment.h"

namespace exa::app {

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
    std::optional<io::StoreStats> disk{};
    std::optional<node::KvReplicatorStatus> peers{};
    std::optional<KvValuesStats> values{};
    std::optional<io::ColdStats> cold{};
};

class KvService {
  public:
    using WallClock = std::function<WallTime()>;

    // `sealer` outlives the service; `wall` is thread-safe. Without a disk, memory is all there is. `cold`, if not
    // null, gets what ages on the disk.
    KvService(const KvServiceConfig& config, const kv::SegmentSealer& sealer, std::unique_ptr<io::SegmentStore> disk,
              WallClock wall, std::unique_ptr<io::ColdStore> cold = nullptr);
    ~KvService();  // stops
    KvService(const KvService&) = delete;
    KvService& operator=(const KvService&) = delete;

    // Stores what is queued, ends what is being loaded, runs what was posted, and joins the threads. From then on
    // nothing is kept or found. From one thread; idempotent.
    void stop();

    // Once, before anything is loaded; outlives the service.
    void set_peers(KvPeers& peers) { peers_ = &peers; }

    // The values of the Redis port; null: none any more. Returns when nobody uses the former ones.
    void set_values(KvValues* values);

    // All of these are thread-safe, and none blocks on a disk.

    // Whether it is here, or on its way: then it counts as used, and need not be offered. Of a chain the first segments
    // are best asked for last: those used longest ago go first, and without the first the others are of no use.
    bool has(const kv::SegmentKey& key);
    // Whether the queue takes a segment of so many bytes; if not, it counts as dropped.
    bool has_room(std::size_t bytes);
    // The payload stands in `buffer` behind room for a header; of `head` key, parent, tenant and tokens are filled.
    void offer(const kv::SegmentHead& head, std::shared_ptr<kv::SegmentBuffer> buffer);
    // Used now. Null when it is not in memory, which says nothing of the disk.
    kv::SealedSegment find_in_memory(const kv::SegmentKey& key);
    // What of `keys` is in memory or on the disk, an item for each, of size 0 for what is not, of a stamp and size 0
    // for a value that was removed; what is on the disk stays there for a moment.
    std::vector<kv::Item> look(std::span<const kv::SegmentKey> keys);
    // What is on the disk.
    std::optional<kv::Item> find_stored(const kv::SegmentKey& key) const;
    std::vector<kv::Item> list_stored(const std::optional<kv::SegmentKey>& after, std::size_t limit) const;
    // The longest run of `keys` that can be had. What is in memory comes within the call.
    void load(std::vector<kv::SegmentKey> keys, KvSink sink, const kv::FetchTerms& terms = {});
    // For another peer: from memory, the disk, or else the cold tier. `done` is called once, here or from any thread,
    // with null for what cannot be had; or never, when the service stops.
    void fetch(const kv::SegmentKey& key, std::function<void(kv::SealedSegment)> done);
    KvStats stats() const;

    // The owners of this version of a value have it or a later one, and this peer is none of them: its disk need not
    // keep it.
    void settle(const kv::Item& item);
    // A stamp that another peer has given.
    void observe(std::uint64_t stamp);

    // Runs `work` on one of the threads that may block on the disk. False after stop(): it does not run.
    bool post(std::function<void()> work);

    KvSessions& sessions() { return sessions_; }

    // Null: none has been set.
    KvPeers* peers() const { return peers_; }
    // Null: there is none.
    io::ColdStore* cold() const { return cold_.get(); }

    // Where a segment is, without using it.
    struct Place {
        bool memory = false;
        std::optional<io::StoredInfo> disk{};
    };
    Place locate(const kv::SegmentKey& key) const;

    // For work that was posted: these block on the disk.
    kv::SealedSegment get(const kv::SegmentKey& key);
    io::PutOutcome put(const kv::SegmentHead& head, std::shared_ptr<kv::SegmentBuffer> buffer);
    // Stores what came from a peer and was verified.
    io::PutOutcome take(const kv::SealedSegment& segment);
    // Whether it was here.
    bool erase(const kv::SegmentKey& key);
    // As SegmentStore::scrub(); what was bad is looked for at peers.
    io::ScrubReport scrub(const std::optional<kv::SegmentKey>& after, std::size_t count);
    // Null: there is none.
    io::SegmentStore* disk() { return disk_.get(); }

  private:
    // What a replica has finished, in `buffer`, once it is sealed in `sealed` as well; or what came sealed from a peer.
    struct Finished {
        kv::SegmentHead head;
        std::shared_ptr<kv::SegmentBuffer> buffer;
        kv::SealedSegment sealed;
    };

    // A load that peers take part in: their segments and those of the disk come together in order.
    struct Assembly {
        std::vector<kv::SegmentKey> keys;
        std::vector<bool> held;
        KvSink sink;

        std::mutex mutex;
        std::deque<KvPeers::Arrival> arrivals;
        bool over = false;     // no more come from peers
        bool at_work = false;  // a thread runs assemble()
        bool ended = false;    // the sink hears no more

        std::size_t next = 0;  // of the thread at work
    };
    using Work = std::function<void(const std::stop_token&)>;

    // What of the disk is to be kept in the cold tier.
    class Aging final : public io::AgingSegments {
      public:
        explicit Aging(KvService& service) : service_(service) {}
        std::vector<kv::SegmentKey> next_to_go(std::size_t count) override {
            return service_.disk_->next_to_go(service_.wall_(), count);
        }
        kv::SealedSegment peek(const kv::SegmentKey& key) override { return service_.disk_->peek(key); }
        void settle(const kv::SegmentKey& key) override { service_.disk_->settle(key); }

      private:
        KvService& service_;
    };

    bool add_work(Work work);
    void write_behind(const std::stop_token& stopping);
    void seal(Finished& finished);
    void seal_queued(const kv::SegmentKey& key);
    void store(std::vector<Finished> batch);
    void run_loader(const std::stop_token& stopping);
    void load_slowly(std::vector<kv::SegmentKey> keys, KvSink sink, const kv::FetchTerms& terms,
                     const std::stop_token& stopping);
    void load_with_peers(std::vector<kv::SegmentKey> keys, KvSink sink, const kv::FetchTerms& terms);
    bool take_from_peers(const std::shared_ptr<Assembly>& assembly, KvPeers::Arrival arrival);
    void assemble(const std::shared_ptr<Assembly>& assembly, const std::stop_token& stopping);
    void remember(const kv::SegmentHead& head, const kv::SealedSegment& segment);
    void keep(const kv::SealedSegment& segment);
    void count_miss();
    kv::SealedSegment find(const kv::SegmentKey& key, const std::stop_token& stopping);
    kv::SealedSegment find_value(const kv::SegmentKey& key);

    const KvServiceConfig config_;
    const kv::SegmentSealer& sealer_;
    const std::unique_ptr<io::SegmentStore> disk_;  // null: none
    const WallClock wall_;
    Aging aging_{*this};
    const std::unique_ptr<io::ColdStore> cold_;  // null: none
    KvPeers* peers_ = nullptr;
    KvSessions sessions_;
    mutable std::shared_mutex values_mutex_;  // shared by whoever uses them
    KvValues* values_ = nullptr;

    mutable std::mutex mutex_;
    KvMemory memory_;
    std::deque<Finished> queue_;
    std::set<kv::SegmentKey> queued_;   // those in `queue_` and those being sealed and stored
    std::set<kv::SegmentKey> reading_;  // from the disk, by one thread for all
    bool stopped_ = false;
    std::deque<Work> work_;
    KvStats counts_;
    std::condition_variable_any queue_filled_;
    std::condition_variable_any work_filled_;
    std::condition_variable_any arrived_;  // something left queued_ or reading_

    std::vector<std::jthread> loaders_;
    std::jthread writer_;
};

}  // namespace exa::app
