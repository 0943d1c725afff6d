// RespKeyspace: the values of the Redis port, mutable, over the peer's segment store.
//
// A value that is set is in memory, and answered from there, when the client hears of it; a thread seals and stores it
// behind that, as Redis with appendfsync everysec does. What waits for the disk is bounded: past that a set is answered
// when there is room again. What was written over before it was stored is not stored. Values used lately stay in
// memory, within a bound; others are read from the store. The last writer wins, by hybrid logical clock; a removed
// value leaves a tombstone. A miss is legal at any time: values are a cache of their writers'.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/kv_tiers.h"
#include "base/crypto.h"
#include "base/time.h"
#include "kv/hybrid_clock.h"
#include "kv/segment.h"
#include "resp/operation.h"

namespace exa::app {

struct RespKeyspaceConfig {
    std::uint64_t memory_bytes = 256ull << 20;    // of values used lately
    std::uint64_t queue_bytes_max = 64ull << 20;  // of values that wait for the disk
    std::uint32_t threads = 2;
};

struct RespKeyspaceStats {
    std::uint64_t memory_values = 0;
    std::uint64_t memory_bytes = 0;
    std::uint64_t queued_bytes = 0;
    std::uint64_t sets = 0;
    std::uint64_t stored = 0;
    std::uint64_t overwritten = 0;  // before they were stored
    std::uint64_t hits_memory = 0;
    std::uint64_t hits_disk = 0;
    std::uint64_t misses = 0;
    std::uint64_t refused = 0;  // for want of memory, or by the disk
};

class RespKeyspace final : public resp::Keyspace {
  public:
    // `crypto`, `sealer` and `disk` (null: memory is all there is) outlive it; `wall` is thread-safe.
    RespKeyspace(const RespKeyspaceConfig& config, const Crypto& crypto, ByteView root_secret,
                 const kv::SegmentSealer& sealer, KvDisk* disk, std::function<WallTime()> wall);
    // Stores what waits, answers what is owed, joins the threads.
    ~RespKeyspace() override;
    RespKeyspace(const RespKeyspace&) = delete;
    RespKeyspace& operator=(const RespKeyspace&) = delete;

    std::optional<resp::Body> make_body(const std::string& tenant, const resp::Request& so_far,
                                        std::uint64_t bytes) override;
    void run(resp::Operation operation, std::function<void(resp::Outcome)> done) override;
    RespKeyspaceStats stats() const;

  private:
    using Done = std::function<void(resp::Outcome)>;
    using Buffer = std::shared_ptr<kv::SegmentBuffer>;

    // One write of one key.
    struct Stored {
        std::vector<Buffer> parts;  // none: removed
        std::uint64_t stamp = 0;
        std::uint64_t tag = 0;  // of the tenant
        std::int64_t expires_ms = 0;
        std::uint64_t bytes = 0;  // of memory
    };
    struct Entry {
        Stored value;
        bool waiting = false;  // for the disk; then not in recent_
        std::list<kv::SegmentKey>::iterator recent;
    };
    struct Write {
        kv::SegmentKey key;
        std::uint64_t stamp;
        std::uint64_t bytes;
    };
    struct Tenant {
        Digest salt;
        std::uint64_t tag;
    };
    // The keys of one operation.
    struct Names {
        Tenant tenant;
        std::vector<kv::SegmentKey> keys;
    };

    Tenant tenant_of(const std::string& name) const;
    Names names_of(const resp::Operation& operation) const;
    void get(resp::Operation operation, const Done& done);
    void set(resp::Operation operation, Done done);
    void exists(const resp::Operation& operation, const Done& done);
    void remove(const resp::Operation& operation, const Done& done);
    void scan(const resp::Operation& operation, const Done& done);

    // With mutex_ held.
    const Entry* live(const kv::SegmentKey& key, WallTime now) const;
    void touch(Entry& entry);
    void enter(const kv::SegmentKey& key, Stored value, bool waiting);
    void forget(std::map<kv::SegmentKey, Entry>::iterator entry);
    void shrink();

    bool on_disk(const kv::SegmentKey& key) const;
    // Of the value that is there, in memory or on the disk; it counts as used, and the disk keeps it for a while.
    std::optional<std::uint64_t> find_stamp(const kv::SegmentKey& key, WallTime now);
    std::optional<Stored> read(const kv::SegmentKey& key, std::string_view user_key);
    static resp::Value view_of(const Stored& value);
    void post(std::function<void()> work);
    void run_work();
    void write_behind();
    void store(const kv::SegmentKey& key, const Stored& value);

    const RespKeyspaceConfig config_;
    const Crypto& crypto_;
    const Bytes root_secret_;
    const kv::SegmentSealer& sealer_;
    KvDisk* const disk_;
    const std::function<WallTime()> wall_;
    // Bytes of buffers that live, wherever they are; buffers outlive this object in answers on their way.
    const std::shared_ptr<std::atomic<std::uint64_t>> allocated_;

    mutable std::mutex mutex_;
    kv::HybridClock clock_;
    std::map<kv::SegmentKey, Entry> entries_;
    std::list<kv::SegmentKey> recent_;  // the longest unused last
    std::uint64_t recent_bytes_ = 0;
    std::deque<Write> queue_;
    std::uint64_t queued_bytes_ = 0;
    std::deque<Done> waiting_sets_;
    std::deque<std::function<void()>> work_;
    RespKeyspaceStats counts_;
    bool stopping_ = false;
    std::condition_variable queue_filled_;
    std::condition_variable work_filled_;

    // The last members: joined first.
    std::vector<std::jthread> workers_;
    std::vector<std::jthread> writers_;
};

}  // namespace exa::app
