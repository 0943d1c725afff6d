// RespKeyspace: the values of the Redis port, mutable, over the peer's segment store and those of other peers.
//
// A value that is set is in memory (value_cache.h) when the client hears of it, and is answered from there; it is
// stored after that (write_behind.h), and offered to its owners. A get brings the last version (version_search.h) from
// wherever it is (reader.h). The last writer wins, by hybrid logical clock; a removed value leaves a tombstone. A miss
// is legal at any time: values are a cache of their writers'.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/kv/tiers.h"
#include "app/resp/counters.h"
#include "app/resp/deps.h"
#include "app/resp/key_scan.h"
#include "app/resp/reader.h"
#include "app/resp/updater.h"
#include "app/resp/value_cache.h"
#include "app/resp/version_search.h"
#include "app/resp/write_behind.h"
#include "app/shared/callback_guard.h"
#include "app/shared/work_queue.h"
#include "resp/operation.h"

namespace exa::app::resp {

struct RespKeyspaceConfig {
    std::uint64_t memory_bytes = 256ull << 20;    // of values used recently
    std::uint64_t queue_bytes_max = 64ull << 20;  // of values that wait for the disk
    std::uint32_t threads = 2;
    std::uint16_t writer_tag = 0;  // of the stamps of this peer
};

class RespKeyspace final : public exa::resp::Keyspace, public kv::KvValues {
  public:
    RespKeyspace(const RespKeyspaceConfig& config, RespDeps deps);
    // Stores what waits, answers what is owed except for what other peers owe it, joins the threads.
    ~RespKeyspace() override;
    RespKeyspace(const RespKeyspace&) = delete;
    RespKeyspace& operator=(const RespKeyspace&) = delete;

    std::optional<exa::resp::Body> make_body(const std::string& tenant, const exa::resp::Request& so_far,
                                             std::uint64_t bytes) override;
    void run(exa::resp::Operation operation, std::function<void(exa::resp::Outcome)> done) override;

    std::optional<exa::kv::Item> find(const exa::kv::SegmentKey& key) const override { return cache_.find_item(key); }
    exa::kv::SealedSegment get(const exa::kv::SegmentKey& key) override;
    void handle_acked(const exa::kv::Item& item) override { cache_.handle_acked(item); }
    void observe(std::uint64_t stamp) override { cache_.observe(stamp); }
    kv::KvValuesStats stats() const override;

  private:
    using Done = std::function<void(exa::resp::Outcome)>;
    using Verdicts = RespVersionSearch::Verdicts;

    struct Tenant {
        Digest salt;
        std::uint64_t tag;
    };

    Tenant tenant_of(const std::string& name) const;
    std::vector<exa::kv::SegmentKey> keys_of(const Tenant& tenant, const exa::resp::Operation& operation) const;

    void get(exa::resp::Operation operation, Done done);
    void length(exa::resp::Operation operation, Done done);
    void set(exa::resp::Operation operation, Done done);
    void write(exa::resp::Operation operation, const Tenant& tenant, const exa::kv::SegmentKey& key, Done done);
    // Of a set, except for its stamp and its keys.
    RespVersion make_version(exa::resp::Operation& operation, std::uint64_t tag);
    void exists(const exa::resp::Operation& operation, Done done);
    void remove(const exa::resp::Operation& operation, Done done);
    void set_many(exa::resp::Operation operation, Done done);
    void expiry(exa::resp::Operation operation, Done done);
    void take(exa::resp::Operation operation, Done done);
    void expire(exa::resp::Operation operation, Done done);
    // Of all keys at this peer.
    void list(exa::resp::Operation operation, Done done);
    void count_values(const exa::resp::Operation& operation, Done done);
    void clear(exa::resp::Operation operation, Done done);
    void scan(exa::resp::Operation operation, Done done);
    // On a thread that may block.
    void run_blocking(std::function<void()> work);

    const RespDeps deps_;
    RespCounters counters_;
    shared::CallbackGuard guard_;
    RespValueCache cache_;
    RespVersionSearch versions_;
    RespWriteBehind writer_;
    shared::WorkQueue workers_;
    RespReader reader_;
    RespKeyScan scan_;
    RespUpdater updater_;
};

}  // namespace exa::app::resp
