// RespKeyspace: the values of the Redis port, mutable, over the peer's segment store and those of other peers.
//
// A value that is set is in memory, and answered from there, when the client hears of it; a thread seals and stores it
// behind that, as Redis with appendfsync everysec does, and then it goes to its owners. What waits for the disk is
// bounded: past that a set is answered when there is room again. What was written over before it was stored is not
// stored. Values used lately stay in memory, within a bound; others are read from the store.
//
// The last writer wins, by hybrid logical clock; a removed value leaves a tombstone. Whoever is asked for a value asks
// its owners for their stamps first (kv/value_search.h) and answers the last version, from memory, the disk or another
// peer. Owners that do not answer in time are not waited for. A miss is legal at any time: values are a cache of their
// writers'.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "app/kv/tiers.h"
#include "app/resp/memory.h"
#include "base/crypto.h"
#include "base/time.h"
#include "io/store/segment_store.h"
#include "kv/hybrid_clock.h"
#include "kv/segment.h"
#include "resp/operation.h"

namespace exa::app {

struct RespKeyspaceConfig {
    std::uint64_t memory_bytes = 256ull << 20;    // of values used lately
    std::uint64_t queue_bytes_max = 64ull << 20;  // of values that wait for the disk
    std::uint32_t threads = 2;
    std::uint16_t writer_tag = 0;  // of the stamps of this peer
};

struct RespKeyspaceParts {
    // All outlive it; `wall` is thread-safe.
    const Crypto& crypto;
    Bytes root_secret;
    const kv::SegmentSealer& sealer;
    io::SegmentStore* disk = nullptr;  // null: memory is all there is
    KvPeers* peers = nullptr;          // null: there are no others
    std::function<WallTime()> wall;
};

class RespKeyspace final : public resp::Keyspace, public KvValues {
  public:
    RespKeyspace(const RespKeyspaceConfig& config, RespKeyspaceParts parts);
    // Stores what waits, answers what is owed but for what other peers owe it, joins the threads.
    ~RespKeyspace() override;
    RespKeyspace(const RespKeyspace&) = delete;
    RespKeyspace& operator=(const RespKeyspace&) = delete;

    std::optional<resp::Body> make_body(const std::string& tenant, const resp::Request& so_far,
                                        std::uint64_t bytes) override;
    void run(resp::Operation operation, std::function<void(resp::Outcome)> done) override;

    std::optional<kv::Item> find(const kv::SegmentKey& key) const override;
    kv::SealedSegment get(const kv::SegmentKey& key) override;
    void handle_settled(const kv::Item& item) override;
    void observe(std::uint64_t stamp) override;
    KvValuesStats stats() const override;

  private:
    using Done = std::function<void(resp::Outcome)>;
    using Verdicts = std::vector<kv::ValueVerdict>;

    struct Tenant {
        Digest salt;
        std::uint64_t tag;
    };
    // The keys of one operation.
    struct Names {
        Tenant tenant;
        std::vector<kv::SegmentKey> keys;
    };
    // A get whose values come from several places.
    struct Gathering;
    // Through which other threads' answers come in as long as the keyspace is there.
    struct Door {
        std::shared_mutex mutex;
        bool is_open = true;
    };

    Tenant tenant_of(const std::string& name) const;
    Names names_of(const resp::Operation& operation) const;
    std::int64_t now_ms() const;

    void get(resp::Operation operation, Done done);
    void gather(const std::shared_ptr<Gathering>& gathering, const Verdicts& verdicts);
    void fetch(const std::shared_ptr<Gathering>& gathering, std::size_t place, const kv::ValueVerdict& verdict);
    void length(resp::Operation operation, const Done& done);
    void set(resp::Operation operation, Done done);
    void write(resp::Operation operation, const Names& names, Done done);
    void exists(const resp::Operation& operation, Done done);
    void remove(const resp::Operation& operation, Done done);
    void scan(const resp::Operation& operation, const Done& done);

    // What this peer knows of a value.
    kv::KnownValue known(const kv::SegmentKey& key);
    // `then` gets a verdict for each key, within the call or later.
    void search(const std::vector<kv::SegmentKey>& keys, std::function<void(const Verdicts&)> then);
    // Drops what `verdict` says is not the last version.
    void forget_older(const kv::SegmentKey& key, const kv::ValueVerdict& verdict);
    // With mutex_ held.
    void enter(const kv::SegmentKey& key, RespVersion version);
    bool make_room(std::uint64_t bytes);

    std::shared_ptr<kv::SegmentBuffer> make_buffer(std::size_t bytes);
    std::optional<RespVersion> read(const kv::SegmentKey& key, std::string_view user_key);
    std::optional<std::string> listed_key(const kv::SegmentKey& key, std::uint64_t tag);
    void post(std::function<void()> work);
    void run_work();
    void write_behind();
    bool store(const RespVersion& version);
    void spread(const RespVersion& version);

    const RespKeyspaceConfig config_;
    const RespKeyspaceParts parts_;
    io::SegmentStore* const disk_;
    KvPeers* const peers_;
    // Bytes of buffers that live, wherever they are; buffers outlive this object in answers on their way.
    const std::shared_ptr<std::atomic<std::uint64_t>> allocated_;
    const std::shared_ptr<Door> door_ = std::make_shared<Door>();

    mutable std::mutex mutex_;
    kv::HybridClock clock_;
    RespMemory memory_;
    std::deque<Done> waiting_sets_;
    std::deque<std::function<void()>> work_;
    KvValuesStats counts_;
    bool stopping_ = false;
    std::condition_variable queue_filled_;
    std::condition_variable work_filled_;

    // The last members: joined first.
    std::vector<std::jthread> workers_;
    std::vector<std::jthread> writers_;
};

}  // namespace exa::app
