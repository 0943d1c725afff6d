// Director: carries out a scenario's plan: when what happens to whom. Every entry draws its victims from a generator of
// its own and counts what it did; an entry that did nothing has failed to test anything.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/checks/mutants.h"
#include "sim/checks/oracles.h"
#include "sim/cluster/cluster.h"
#include "sim/scenarios/scenario.h"

namespace exa::sim {

class Director {
  public:
    // All outlive it. Takes the cluster's events `fault` and `heal`.
    Director(const Scenario& scenario, Cluster& cluster, Oracles& oracles, Mutant mutant);

    // What the faults of clients need: their rate times a factor from now on; how many of a share of the requests under
    // way were cut.
    void drive_clients(std::function<void(double)> factor, std::function<std::uint64_t(double)> disconnect) {
        factor_ = std::move(factor);
        disconnect_ = std::move(disconnect);
    }

    // What the faults of KV services need: how much came of one at a host; and that a host's disk is another one.
    void drive_kv(std::function<std::uint64_t(Host, const Fault&)> harm, std::function<void(Host)> wipe) {
        harm_kv_ = std::move(harm);
        wipe_kv_ = std::move(wipe);
    }

    // Puts the plan on the time line.
    void start();
    // Nothing begins or ends from here on.
    void freeze() { frozen_ = true; }
    // A datagram that its receiver has handled, for replays.
    void remember(Host from, const Peer& to, const Bytes& bytes);

    // By entry of the plan.
    const std::vector<std::uint64_t>& effects() const { return effects_; }
    // Sum by kind.
    std::map<std::string, std::uint64_t> effects_by_kind() const;

  private:
    struct Active {
        std::size_t entry = 0;
        std::vector<Host> hosts;
        std::vector<std::uint32_t> rules;
        WorldTime until = world_never;
    };
    struct Packet {
        Host from = 0;
        Host to = 0;
        std::uint32_t boot = 0;  // of the process that handled it
        Bytes bytes;
    };

    void begin(const Event& event);
    void end(const Event& event);
    std::vector<Host> pick(std::size_t entry);
    void apply(std::size_t entry, Active& active);
    Rule rule(const Fault& fault, const Active& active) const;
    void attack(std::uint64_t number, Active& active);
    void send_strange(Host from, Host to, Bytes bytes, Origin origin);

    const Scenario& scenario_;
    Cluster& cluster_;
    Oracles& oracles_;
    Mutant mutant_;
    std::function<void(double)> factor_;
    std::function<std::uint64_t(double)> disconnect_;
    std::function<std::uint64_t(Host, const Fault&)> harm_kv_;
    std::function<void(Host)> wipe_kv_;
    bool frozen_ = false;
    bool remembers_ = false;
    std::vector<Rng> rngs_;  // one an entry
    std::vector<std::uint64_t> effects_;
    std::map<std::uint64_t, Active> active_;
    std::uint64_t next_active_ = 1;
    std::vector<Packet> past_;
    std::size_t past_next_ = 0;
};

}  // namespace exa::sim
