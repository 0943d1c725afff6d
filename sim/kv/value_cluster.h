// ValueCluster: the values of the Redis port at every peer: replicators and the very kv::HybridClock of production,
// with a model of a peer's memory and disk, and clients that set, get and remove the same keys at any peer.
//
// Oracles: V1 what a get answers was set under that key; V2 it is not older than what was acknowledged before it by an
// owner in reach; V3 in the end all peers of the core answer the same of what its own peers keep, and nothing older
// than what one of them has acknowledged and not forgotten: so what was removed stays removed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/crypto.h"
#include "base/mutant.h"
#include "kv/holdings.h"
#include "kv/hybrid_clock.h"
#include "kv/segment.h"
#include "sim/checks/oracles.h"
#include "sim/cluster/cluster.h"
#include "sim/kv/replicators.h"
#include "sim/scenarios/scenario.h"

namespace exa::sim {

struct ValueCounters {
    std::uint64_t sets = 0;
    std::uint64_t removed = 0;
    std::uint64_t got = 0;         // gets that found something
    std::uint64_t from_peers = 0;  // gets answered by another peer
    std::uint64_t misses = 0;
    std::uint64_t unsure = 0;   // searches in which not every owner answered
    std::uint64_t checked = 0;  // acknowledgements that V2 held a get against
    std::uint64_t agreed = 0;   // keys of which V3 holds in the end
};

class ValueCluster final : private ReplicatorUser {
  public:
    // All outlive it.
    ValueCluster(const Scenario& scenario, Cluster& cluster, Oracles& oracles, const Crypto& crypto, Mutant mutant);

    void start();
    // No operation begins any more.
    void stop() { stopped_ = true; }
    void wipe(Host host);

    // V3 of the core: `why` says what is missing. Asks the core again each time, and judges the answers to the time
    // before.
    bool is_settled(const std::vector<Host>& core, std::string& why);

    const ValueCounters& counters() const { return counters_; }

  private:
    // What is on a disk, by key; a removal is a header without a payload.
    class Disk final : public kv::Holdings {
      public:
        std::optional<kv::Item> find(const kv::SegmentKey& key) const override;
        std::vector<kv::Item> list(const std::optional<kv::SegmentKey>& after, std::size_t limit) const override;
        std::map<kv::SegmentKey, kv::Item> items;
    };
    struct Memory {
        kv::Item item;  // of size 0: a removal
        bool is_unsettled = false;
    };
    struct Service {
        Disk disk;  // outlives the process
        std::map<kv::SegmentKey, Memory> memory;
        kv::HybridClock clock;
        WorldTime trouble{};  // when a question last failed or was given up
    };
    struct Acknowledged {
        std::uint64_t stamp = 0;
        Host by = 0;
        std::uint32_t boot = 0;
        bool is_removal = false;
    };
    enum class Purpose : std::uint8_t { get, remove, survey };
    struct Operation {
        Purpose purpose = Purpose::get;
        Host host = 0;
        std::uint32_t boot = 0;
        std::uint32_t number = 0;  // of the key
        WorldTime began;
        std::vector<Acknowledged> before;  // by owners in reach
        kv::ValueVerdict verdict;
        std::uint64_t fetched = 0;
    };

    const kv::Holdings& on_start(Host host) override;
    void on_crash(Host host) override;
    kv::Item lookup(Host host, const kv::SegmentKey& key) override { return known(host, key).item; }
    kv::SealedSegment read(Host host, const kv::SegmentKey& key) override;
    void observe(Host host, std::uint64_t stamp) override;
    void on_trouble(Host host) override { services_[host].trouble = cluster_.now(); }
    void on_written(Host host, const kv::Item& item) override;
    void deliver(Host host, const kv::Exchange::Deliver& deliver) override;
    void end_fetch(Host host, const kv::Exchange::FetchOver& over) override;
    void store(Host host, const kv::Exchange::Store& store) override;
    void on_surplus(Host host, const kv::Exchange::Surplus& surplus) override;
    void on_found(Host host, const kv::Exchange::Found& found) override;

    void begin_operation();
    void begin(node::KvReplicator& replicator, Operation operation);
    void end(Operation operation, std::uint64_t stamp);
    std::uint64_t write(Host host, std::uint32_t number, bool is_removal, std::uint64_t after);
    kv::KnownValue known(Host host, const kv::SegmentKey& key) const;
    bool is_of(const std::vector<Host>& core, std::uint32_t number);
    bool reachable(Host from, const Acknowledged& one, std::uint32_t number);

    const Scenario& scenario_;
    Cluster& cluster_;
    Oracles& oracles_;
    const kv::SegmentSealer sealer_;
    Rng rng_;
    std::vector<kv::SegmentKey> keys_;
    std::vector<Service> services_;
    Replicators replicators_;
    std::map<std::pair<Host, std::uint64_t>, Operation> operations_;  // by the id of its search, then of its fetch
    std::vector<std::vector<Acknowledged>> acknowledged_;             // by key
    std::vector<std::map<Host, std::uint64_t>> survey_;               // by key, what each answered last
    ValueCounters counters_;
    bool stopped_ = false;
};

}  // namespace exa::sim
