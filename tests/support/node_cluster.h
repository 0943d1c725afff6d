// NodeCluster: node objects, as production drives them, on the virtual network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gossip_cluster.h"
#include "join.h"
#include "node/node.h"

namespace exa::test {

class NodeCluster : public GossipCluster<node::Node> {
  public:
    using GossipCluster::GossipCluster;

    // A new instance of peer `i`, which joins through `seeds` and the members that it remembers.
    void start(std::size_t i, const std::vector<std::size_t>& seeds, node::Config config = {},
               std::vector<membership::RememberedMember> members = {}) {
        config.cluster = cluster_id("test");
        boot(i, [&](const Peer& peer) {
            return std::make_unique<node::Node>(config, first_record(i), rng().next() ^ peer.id.value, now());
        });
        std::vector<Endpoint> endpoints;
        for (const std::size_t seed : seeds) endpoints.push_back(peer(seed).endpoint);
        membership::JoinRequest request = through(endpoints);
        request.members = std::move(members);
        command(i, [&](node::Node& node) { node.join(now(), std::move(request)); });
    }

    // A replica of peer `i`, for set_replica().
    wire::ReplicaRecord replica(std::size_t i, std::uint16_t slot,
                                wire::ReplicaState state = wire::ReplicaState::ready) const {
        wire::ReplicaRecord replica;
        replica.id = {peer(i).id, deployment_id("chat"), slot};
        replica.state = state;
        replica.deployment = replica.role = "chat";
        replica.model = "m";
        replica.version = "1";
        replica.numerics = "n";
        replica.in_flight_limit = 8;
        replica.context_tokens = 2048;
        return replica;
    }

  private:
    // What peer `i` says of itself when it starts.
    wire::PeerRecord first_record(std::size_t i) const {
        wire::PeerRecord record;
        record.id = peer(i).id;
        record.generation = Generation{peer(i).generation};
        record.name = "peer-" + std::to_string(i);
        record.state = wire::PeerState::starting;
        record.gossip = record.link = record.http = peer(i).endpoint;
        record.region = "r";
        record.rack = "rack-" + std::to_string(i % 16);
        return record;
    }
};

}  // namespace exa::test
