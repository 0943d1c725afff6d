// FaultInjector: carries out a scenario's plan: when what happens to whom. Every entry draws its victims from a
// generator of its own and counts what it did; an entry that did nothing has failed to test anything.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/checks/mutants.h"
#include "sim/checks/oracles.h"
#include "sim/cluster/cluster.h"
#include "sim/faults/client_faults.h"
#include "sim/faults/clock_faults.h"
#include "sim/faults/fault_family.h"
#include "sim/faults/key_faults.h"
#include "sim/faults/name_faults.h"
#include "sim/faults/network_faults.h"
#include "sim/faults/packet_faults.h"
#include "sim/faults/process_faults.h"
#include "sim/faults/storage_faults.h"
#include "sim/scenarios/scenario.h"

namespace exa::sim {

class FaultInjector {
  public:
    // Takes the cluster's events `fault` and `heal`.
    FaultInjector(const Scenario& scenario, Cluster& cluster, Oracles& oracles);

    // What the faults of clients need, see ClientFaults.
    void drive_clients(std::function<void(double)> factor, std::function<std::uint64_t(double)> disconnect) {
        clients_.drive(std::move(factor), std::move(disconnect));
    }
    // What the faults of KV services need: how much came of one at a host; and that a host's disk is another one.
    void drive_kv(std::function<std::uint64_t(Host, const Fault&)> harm, std::function<void(Host)> wipe) {
        disks_.on_kv_fault(std::move(harm));
        processes_.on_wipe(std::move(wipe));
    }

    // Puts the plan on the time line.
    void start();
    // Nothing begins or ends from here on.
    void freeze() { frozen_ = true; }
    // A datagram that its receiver has handled, for replays.
    void remember(Host from, const Peer& to, const Bytes& bytes) { packets_.remember(from, to, bytes); }

    // By entry of the plan.
    const std::vector<std::uint64_t>& effects() const { return effects_; }
    // Sum by kind.
    std::map<std::string, std::uint64_t> effects_by_kind() const;

  private:
    void begin(const Event& event);
    void end(const Event& event);
    FaultFamily& family_of(FaultKind kind);
    std::vector<Host> pick(std::size_t entry);

    const Scenario& scenario_;
    Cluster& cluster_;
    Oracles& oracles_;
    NetworkFaults network_;
    ProcessFaults processes_;
    ClockFaults clocks_;
    StorageFaults disks_;
    KeyFaults keys_;
    NameFaults names_;
    ClientFaults clients_;
    PacketFaults packets_;
    bool frozen_ = false;
    std::vector<Rng> rngs_;               // one an entry
    std::vector<std::uint64_t> effects_;  // likewise
    std::map<std::uint64_t, Injection> active_;
    std::uint64_t next_active_ = 1;
};

}  // namespace exa::sim
