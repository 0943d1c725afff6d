#include "sim/faults/packet_faults.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "wire/checksum.h"
#include "wire/gossip.h"

namespace exa::sim {

namespace {

constexpr std::size_t past_max = 4096;

}  // namespace

PacketFaults::PacketFaults(const Scenario& scenario, Cluster& cluster) : cluster_(cluster) {
    remembers_ = std::ranges::any_of(scenario.plan, [](const Fault& fault) {
        return fault.kind == FaultKind::replay || fault.kind == FaultKind::oversize;
    });
}

void PacketFaults::remember(Host from, const Peer& to, const Bytes& bytes) {
    if (!remembers_) return;
    if (past_.size() < past_max) {
        past_.push_back({from, to.host, to.boot, bytes});
        return;
    }
    past_[past_next_] = {from, to.host, to.boot, bytes};
    past_next_ = (past_next_ + 1) % past_max;
}

WorldTime PacketFaults::attack(Injection& injection) {
    Rng& rng = injection.rng;
    if (cluster_.now() >= injection.until || injection.hosts.empty()) return world_never;
    const Host to = injection.hosts[rng.below(injection.hosts.size())];
    const Host from = static_cast<Host>(rng.below(cluster_.size()));
    if (injection.fault.kind == FaultKind::garbage) {
        Bytes bytes(1 + rng.below(1500));
        for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(rng.next());
        send(from, to, std::move(bytes), Origin::outsider);
        ++injection.effects;
    } else if (injection.fault.kind == FaultKind::forge) {
        send(from, to, forgery(rng), Origin::outsider);
        ++injection.effects;
    } else if (!past_.empty()) {
        replay(injection);
    }
    return cluster_.now() + std::max(Duration{1}, duration_of(1 / injection.fault.rate));
}

// The death of a member, as a peer of another cluster tells it.
Bytes PacketFaults::forgery(Rng& rng) const {
    const PeerId victim = cluster_.peer(static_cast<Host>(rng.below(cluster_.size()))).id;
    wire::Packet packet;
    packet.header = {cluster_id(attacking_cluster), PeerId{rng.next() | 1}, Generation{1}, Incarnation{0}, 1, 1};
    packet.kind = wire::PacketKind::gossip;
    if (victim != PeerId{})
        packet.facts.push_back({victim, Generation{1}, Incarnation{5}, wire::MemberState::dead, packet.header.sender});
    auto bytes = wire::encode(packet);
    EXA_CHECK(bytes.has_value());
    return wire::add_checksum(std::move(bytes).value());
}

void PacketFaults::replay(Injection& injection) {
    Packet packet = past_[injection.rng.below(past_.size())];
    // A later process at that address has not seen it: to that one it is late gossip of a member.
    Origin origin = cluster_.peer(packet.to).boot == packet.boot ? Origin::replayed : Origin::member;
    if (injection.fault.kind == FaultKind::oversize) {
        packet.bytes.resize(2000 + injection.rng.below(60'000), 0xff);
        origin = Origin::outsider;
    }
    send(packet.from, packet.to, std::move(packet.bytes), origin);
    ++injection.effects;
}

void PacketFaults::send(Host from, Host to, Bytes bytes, Origin origin) {
    cluster_.inject(from, to, std::move(bytes), origin);
}

}  // namespace exa::sim
