// KvCluster: the KV service of every peer, without engines: replicators over a model of a disk store, and conversations
// that load what is there and store what they add.
//
// Oracles: K1 what is handed out is what the conversation's tokens say; K2 what a peer acknowledges is wholly on its
// disk; K3 what two owners had survives one rack; K4 in the end every owner in the core has what it should have; K5 no
// store exceeds its capacity; K6 no tenant gets what another tenant's tokens made.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/mutant.h"
#include "sim/checks/oracles.h"
#include "sim/cluster/cluster.h"
#include "sim/kv/conversations.h"
#include "sim/kv/replicators.h"
#include "sim/kv/store.h"
#include "sim/scenarios/scenario.h"

namespace exa::sim {

struct KvCounters {
    std::uint64_t turns = 0;
    std::uint64_t made = 0;          // segments that were computed
    std::uint64_t handed_out = 0;    // segments that came from other peers
    std::uint64_t held = 0;          // that were there already
    std::uint64_t acknowledged = 0;  // by an owner
    std::uint64_t corrupt = 0;       // that did not verify on receipt
    std::uint64_t repaired = 0;      // offers of repair passes
    std::uint64_t passes = 0;
    std::uint64_t healed = 0;  // that were bad on the disk and came from other peers
};

class KvCluster final : private ReplicatorUser {
  public:
    // All outlive it.
    KvCluster(const Scenario& scenario, Cluster& cluster, Oracles& oracles, const Crypto& crypto, Mutant mutant);

    void start();
    // No turn begins any more.
    void stop() { stopped_ = true; }

    // Faults, by the fault injector; the value is how much came of it.
    std::uint64_t rot(Host host, double share);
    std::uint64_t misdirect(Host host);
    void wipe(Host host);

    // K4 of the core: `why` says what is missing.
    bool is_settled(const std::vector<Host>& core, std::string& why);

    KvCounters counters() const;
    KvStoreEffects effects() const;

  private:
    struct Turn {
        Host host = 0;
        std::uint32_t boot = 0;
        std::uint32_t conversation = 0;
        std::vector<Conversations::Segment> segments;
        std::vector<bool> held;
    };
    struct Track {
        std::set<Host> on;
        std::set<Host> refused;  // whose disks had no room
        bool was_safe = false;   // two had it
        bool evicted = false;    // for room
        bool excused = false;    // evicted, dropped, or on a disk that lies
        WorldTime last_loss{};
    };

    const kv::Holdings& on_start(Host host) override { return *stores_[host]; }
    void on_crash(Host host) override;
    void on_poll(Host host) override;
    kv::Item lookup(Host host, const kv::SegmentKey& key) override;
    kv::SealedSegment read(Host host, const kv::SegmentKey& key) override;
    void on_written(Host host, const kv::Item& item) override;
    void deliver(Host host, const kv::Exchange::Deliver& deliver) override;
    void end_fetch(Host host, const kv::Exchange::FetchOver& over) override;
    void store(Host host, const kv::Exchange::Store& store) override;
    void on_acked(const kv::Exchange::Acked& acked) override;

    void begin_turn();
    void write(Host host, const kv::SealedSegment& segment, const kv::Item& item, WriteOrigin origin);
    void check(Host host, const Turn& turn, std::uint32_t place, const kv::SegmentBuffer& segment);
    void end_turn(const Turn& turn, std::uint32_t given);
    void lose(Host host, const kv::SegmentKey& key, bool excused);
    bool lacks(const std::vector<Host>& core, PeerId owner, const kv::SegmentKey& key);
    std::string name(const kv::SegmentKey& key) const;

    const Scenario& scenario_;
    Cluster& cluster_;
    Oracles& oracles_;
    const kv::SegmentSealer sealer_;
    Rng rng_;
    Conversations conversations_;
    std::vector<std::unique_ptr<KvStore>> stores_;  // by host
    Replicators replicators_;
    std::map<std::pair<Host, kv::FetchId>, Turn> turns_;
    std::map<kv::SegmentKey, Track> tracks_;
    // What a peer of the core holds and that owner of it lacked at the last look.
    struct Lack {
        Host holder = 0;
        PeerId owner;
        kv::SegmentKey key;
    };
    std::optional<Lack> lack_;
    KvCounters counters_;
    bool stopped_ = false;
};

}  // namespace exa::sim
