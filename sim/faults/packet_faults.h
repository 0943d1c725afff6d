// PacketFaults: datagrams that no member has just sent: garbage, forgeries by another cluster, replays, and oversized
// ones. Each fault sends one, again and again at its rate.
#pragma once

#include <vector>

#include "sim/checks/mutants.h"
#include "sim/cluster/cluster.h"
#include "sim/faults/fault_family.h"

namespace exa::sim {

class PacketFaults final : public FaultFamily {
  public:
    PacketFaults(const Scenario& scenario, Cluster& cluster);

    // A datagram that its receiver has handled, for replays.
    void remember(Host from, const Peer& to, const Bytes& bytes);

    WorldTime begin(Injection& injection) override { return attack(injection); }
    Ending end(Injection& injection) override { return {.again = attack(injection)}; }

  private:
    struct Packet {
        Host from = 0;
        Host to = 0;
        std::uint32_t boot = 0;  // of the process that handled it
        Bytes bytes;
    };

    // Sends one; the time of the next.
    WorldTime attack(Injection& injection);
    Bytes forgery(Rng& rng) const;
    void replay(Injection& injection);
    void send(Host from, Host to, Bytes bytes, Origin origin);

    Cluster& cluster_;
    bool remembers_ = false;
    std::vector<Packet> past_;
    std::size_t past_next_ = 0;
};

}  // namespace exa::sim
