// Peers, records and a roster for the tests of membership.
#pragma once

#include <cstdint>
#include <string>

#include "membership/roster.h"
#include "wire/gossip.h"

namespace exa::membership::samples {

inline const TimePoint start{std::chrono::seconds{100}};
inline constexpr PeerId me{7};

inline Endpoint endpoint(std::uint64_t peer) {
    Endpoint endpoint = *parse_endpoint("10.0.0.0:7946");
    endpoint.address[14] = static_cast<std::uint8_t>(peer >> 8);
    endpoint.address[15] = static_cast<std::uint8_t>(peer);
    return endpoint;
}

inline wire::ReplicaRecord replica(PeerId peer, std::uint16_t slot) {
    wire::ReplicaRecord replica;
    replica.id = {peer, DeploymentId{1}, slot};
    replica.state = wire::ReplicaState::ready;
    replica.deployment = "chat";
    replica.model = "m";
    return replica;
}

inline wire::PeerRecord record(std::uint64_t peer, std::uint64_t generation = 1, std::uint16_t replicas = 2) {
    wire::PeerRecord record;
    record.id = PeerId{peer};
    record.generation = Generation{generation};
    record.version = 1;
    record.name = "peer-" + std::to_string(peer);
    record.state = wire::PeerState::serving;
    record.gossip = record.link = record.http = endpoint(peer);
    for (std::uint16_t slot = 0; slot < replicas; ++slot) record.replicas.push_back(replica(record.id, slot));
    return record;
}

inline wire::RecordDelta whole(const wire::PeerRecord& record, std::uint32_t instance = 1) {
    wire::RecordDelta delta;
    delta.peer = record.id;
    delta.generation = record.generation;
    delta.instance = instance;
    delta.version = record.version;
    delta.profile = wire::profile_of(record);
    delta.replicas = record.replicas;
    return delta;
}

inline wire::RecordDelta whole(std::uint64_t peer, std::uint64_t generation = 1) {
    return whole(record(peer, generation));
}

// Of peer 7, with `others` live ones numbered from 101.
inline Roster roster(std::size_t others) {
    Roster roster(start, record(me.value), 1, 1000);
    for (std::uint64_t id = 101; id < 101 + others; ++id) roster.apply(start, whole(id));
    return roster;
}

}  // namespace exa::membership::samples
