// KvCluster: the KV service of every peer, without engines: the very kv::Exchange of production over the links of the
// fabric and a model of a disk store, and chats that load what is there and store what they add.
//
// Oracles: K1 what is handed out is what the chat's tokens say; K2 what a peer acknowledges is wholly on its disk; K3
// what two owners had outlives one rack; K4 in the end every owner in the core has what it shall have; K5 no store is
// over its capacity; K6 nobody is handed what another tenant's tokens made.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "kv/exchange.h"
#include "sim/checks/mutants.h"
#include "sim/checks/oracles.h"
#include "sim/cluster/cluster.h"
#include "sim/kv/chats.h"
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

class KvCluster {
  public:
    // All outlive it.
    KvCluster(const Scenario& scenario, Cluster& cluster, Oracles& oracles, const Crypto& crypto, Mutant mutant);

    void start();
    // No turn begins any more.
    void stop() { stopped_ = true; }

    // Faults, by the director; the value is how much came of it.
    std::uint64_t rot(Host host, double share);
    std::uint64_t misdirect(Host host);
    void wipe(Host host);

    // K4 of the core: `why` says what is missing.
    bool is_settled(const std::vector<Host>& core, std::string& why);

    KvCounters counters() const;
    KvStoreEffects effects() const;

  private:
    // What reaches a peer over a link, or comes of what it asked its disk.
    struct Question {
        kv::AskId id;
        kv::Question question;
    };
    struct Items {
        kv::AskId id;
        std::vector<kv::Item> items;
    };
    struct Segment {
        kv::AskId id;
        kv::SegmentKey key;  // that was asked for
        kv::SealedSegment segment;
    };
    struct Outcomes {
        kv::AskId id;
        std::vector<kv::OfferOutcome> outcomes;
    };
    struct Failed {
        kv::AskId id;
    };
    struct Written {
        kv::Item item;
        bool own = false;  // of this peer's making; else of an offer
    };
    struct Wake {};  // a timer of the exchange
    struct Look {};  // at the view, again and again
    using Happening = std::variant<Question, Items, Segment, Outcomes, Failed, Written, Wake, Look>;
    struct Message {
        Host from = 0;
        Host to = 0;
        Happening what;
    };
    struct Service {
        std::unique_ptr<KvStore> store;  // outlives the process
        std::unique_ptr<kv::Exchange> exchange;
        std::uint32_t boot = 0;
        std::uint64_t placed = 0;  // number of the view
        WorldTime armed_for = world_never;
    };
    struct Turn {
        Host host = 0;
        std::uint32_t boot = 0;
        std::uint32_t chat = 0;
        std::vector<Chats::Segment> segments;
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

    void handle(const Event& event);
    void begin_turn();
    Service* service_of(Host host);
    void act(Host host, const Happening& what, Host from);
    void answer(Host host, Host from, const Question& question);
    void pump(Host host);
    void carry_out(Host host, kv::Exchange::Output output);
    void ask(Host host, const kv::Exchange::Send& send);
    void send(Host from, Host to, std::size_t bytes, Happening what, std::optional<kv::AskId> fails);
    void later(Host host, Duration wait, Happening what);
    void push(WorldTime at, Message message, std::uint32_t boot);
    void write(Host host, const kv::SealedSegment& segment, const kv::Item& item, bool own);
    void check(Host host, const Turn& turn, std::uint32_t place, const kv::SegmentBuffer& segment);
    void end_turn(const Turn& turn, std::uint32_t given);
    void lose(Host host, const kv::SegmentKey& key, bool excused);
    void scrub(Host host);
    void heal(Host host, const kv::SegmentKey& key);
    std::string name(const kv::SegmentKey& key) const;

    const Scenario& scenario_;
    Cluster& cluster_;
    Oracles& oracles_;
    const Mutant mutant_;
    const kv::SegmentSealer sealer_;
    Rng rng_;
    Chats chats_;
    std::vector<Service> services_;
    std::map<PeerId, Host> hosts_;
    std::map<std::uint64_t, Message> messages_;
    std::map<std::pair<Host, kv::OfferId>, std::pair<Host, kv::AskId>> offers_;
    std::map<std::pair<Host, kv::LoadId>, Turn> turns_;
    std::map<std::pair<Host, kv::LoadId>, kv::SegmentKey> heals_;
    std::map<kv::SegmentKey, Track> tracks_;
    std::uint64_t numbered_ = 0;
    KvCounters counters_;
    bool stopped_ = false;
};

}  // namespace exa::sim
