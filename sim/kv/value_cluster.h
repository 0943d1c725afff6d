// ValueCluster: the values of the Redis port at every peer: the very kv::Exchange and kv::HybridClock of production
// over the links of the fabric, with a model of a peer's memory and disk, and clients that set, get and remove the same
// keys at any peer.
//
// Oracles: V1 what a get answers was set under that key; V2 it is not older than what was acknowledged before it by an
// owner in reach; V3 in the end all peers of the core answer the same of what its own peers keep, and nothing older
// than what one of them has acknowledged and not forgotten: so what was removed stays removed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "kv/exchange.h"
#include "kv/holdings.h"
#include "kv/hybrid_clock.h"
#include "sim/checks/mutants.h"
#include "sim/checks/oracles.h"
#include "sim/cluster/cluster.h"
#include "sim/scenarios/scenario.h"

namespace exa::sim {

struct ValueCounters {
    std::uint64_t sets = 0;
    std::uint64_t removed = 0;
    std::uint64_t got = 0;         // gets that found something
    std::uint64_t from_peers = 0;  // of them, what came from another peer
    std::uint64_t misses = 0;
    std::uint64_t unsure = 0;   // searches in which not every owner answered
    std::uint64_t checked = 0;  // acknowledgements that V2 held a get against
    std::uint64_t agreed = 0;   // keys of which V3 holds in the end
};

class ValueCluster {
  public:
    // All outlive it.
    ValueCluster(const Scenario& scenario, Cluster& cluster, Oracles& oracles, Mutant mutant);

    void start();
    // No operation begins any more.
    void stop() { stopped_ = true; }
    void wipe(Host host);

    // V3 of the core: `why` says what is missing. Asks the core anew each time, and tells of the answers to the last
    // time.
    bool is_settled(const std::vector<Host>& core, std::string& why);

    const ValueCounters& counters() const { return counters_; }

  private:
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
    struct Wake {};
    struct Look {};
    using Happening = std::variant<Question, Items, Segment, Outcomes, Failed, Written, Wake, Look>;
    struct Message {
        Host from = 0;
        Host to = 0;
        Happening what;
    };

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
        std::unique_ptr<kv::Exchange> exchange;
        kv::HybridClock clock;
        std::uint32_t boot = 0;
        std::uint64_t placed = 0;
        WorldTime armed_for = world_never;
        WorldTime trouble{};  // when a question failed or was given up last
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

    void handle(const Event& event);
    void begin_operation();
    void begin(Service& service, Operation operation);
    Service* service_of(Host host);
    void act(Host host, const Happening& what, Host from);
    void answer(Host host, Host from, const Question& question);
    void pump(Host host);
    void carry_out(Host host, kv::Exchange::Output output);
    void found(Host host, const kv::Exchange::Found& found);
    void end(Operation operation, std::uint64_t stamp);
    std::uint64_t write(Host host, std::uint32_t number, bool is_removal, std::uint64_t after);
    kv::KnownValue known(const Service& service, const kv::SegmentKey& key) const;
    bool is_of(const std::vector<Host>& core, std::uint32_t number);
    bool in_reach(Host from, const Acknowledged& one, std::uint32_t number);
    void send(Host from, Host to, std::size_t bytes, Happening what, std::optional<kv::AskId> fails);
    void later(Host host, Duration wait, Happening what);
    void push(WorldTime at, Message message, std::uint32_t boot);

    const Scenario& scenario_;
    Cluster& cluster_;
    Oracles& oracles_;
    const Mutant mutant_;
    Rng rng_;
    std::vector<kv::SegmentKey> keys_;
    std::vector<Service> services_;
    std::map<PeerId, Host> hosts_;
    std::map<std::uint64_t, Message> messages_;
    std::map<std::pair<Host, kv::OfferId>, std::pair<Host, kv::AskId>> offers_;
    std::map<std::pair<Host, std::uint64_t>, Operation> operations_;  // by the number of its search, then of its fetch
    std::vector<std::vector<Acknowledged>> acknowledged_;             // by key
    std::vector<std::map<Host, std::uint64_t>> survey_;               // by key, what each answered last
    std::uint64_t numbered_ = 0;
    ValueCounters counters_;
    bool stopped_ = false;
};

}  // namespace exa::sim
