// Cluster: a GossipCluster of Membership cores, with what the properties ask of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "membership/membership.h"
#include "support/gossip_cluster.h"
#include "support/join.h"

namespace exa::membership {

class Cluster : public test::GossipCluster<Membership> {
  public:
    Cluster(std::uint64_t seed, const test::Network& network, Config config = {})
        : GossipCluster(seed, network), config_(config) {}

    wire::PeerRecord record(std::size_t i, std::size_t replicas = 2) const {
        wire::PeerRecord record;
        record.id = peer(i).id;
        record.generation = Generation{peer(i).generation};
        record.name = "peer-" + std::to_string(i);
        record.state = wire::PeerState::serving;
        record.gossip = record.link = record.http = peer(i).endpoint;
        record.rack = "rack-" + std::to_string(i % 16);
        for (std::size_t slot = 0; slot < replicas; ++slot) {
            wire::ReplicaRecord replica;
            replica.id = {record.id, deployment_id("chat"), static_cast<std::uint16_t>(slot)};
            replica.state = wire::ReplicaState::ready;
            replica.deployment = replica.role = "chat";
            replica.model = "smollm2-135m-instruct";
            replica.version = "1";
            record.replicas.push_back(replica);
        }
        return record;
    }

    // A new instance of peer `i`, joining through `seeds`.
    void up(std::size_t i, const std::vector<std::size_t>& seeds, std::size_t replicas = 2) {
        boot(i, [&](const Peer& peer) {
            return std::make_unique<Membership>(config_, cluster_id("test"), record(i, replicas),
                                                rng().next() ^ peer.id.value, now());
        });
        std::vector<Endpoint> endpoints;
        for (const std::size_t seed : seeds) endpoints.push_back(peer(seed).endpoint);
        command(i, [&](Membership& core) { core.join(now(), through(endpoints)); });
    }

    // `count` peers; all start within `within` and join through the first two.
    void up_all(std::size_t count, Duration within) {
        for (std::size_t i = 0; i < count; ++i) add_peer();
        up(0, {});
        for (std::size_t i = 1; i < count; ++i) {
            run_for(within / static_cast<Duration::rep>(count));
            up(i, {0, 1});
        }
    }

    // What is wrong with the view that `i` has, if one takes the peers that are up for the truth. Empty: nothing.
    std::string fault_of_view(std::size_t i) {
        const auto view = core(i).view();
        std::size_t up = 0;
        for (std::size_t other = 0; other < size(); ++other) {
            const Member* member = view->find(peer(other).id);
            const bool believed = member != nullptr && member->liveness == Liveness::alive;
            if (is_up(other) && !core(other).is_over()) {
                ++up;
                if (!believed) return name(i) + " does not see that " + name(other) + " is alive";
                if (*member->record != core(other).record()) return name(i) + " has an old record of " + name(other);
            } else if (member != nullptr && member->liveness < Liveness::dead) {
                return name(i) + " believes that " + name(other) + " is alive";
            }
        }
        std::size_t live = 0;
        for (const auto& member : view->members) live += member->liveness < Liveness::dead ? 1 : 0;
        return live == up ? std::string() : name(i) + " sees strangers";
    }

    std::string fault() {
        for (std::size_t i = 0; i < size(); ++i)
            if (is_up(i) && !core(i).is_over())
                if (auto fault = fault_of_view(i); !fault.empty()) return fault;
        return {};
    }

    // Runs until every view is right; the time that took, or `most` when it did not happen.
    Duration converge(Duration most) {
        return run_until([&] { return fault().empty(); }, most, std::chrono::milliseconds{100});
    }

    std::size_t count(EventKind kind) const {
        std::size_t count = 0;
        for (const auto& happening : happenings()) count += happening.event.kind == kind ? 1 : 0;
        return count;
    }

    static std::string name(std::size_t i) { return "peer " + std::to_string(i); }

  private:
    Config config_;
};

}  // namespace exa::membership
