// The node object, as production drives it, on a virtual clock: whatever joins, crashes, leaves and restarts happen,
// all who live end with one picture of the cluster and one ring.
#include <boost/test/unit_test.hpp>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "../membership/world.h"
#include "node/node.h"
#include "support/print.h"

using namespace exa;
using namespace std::chrono_literals;

namespace {

enum class Fate : std::uint8_t { up, crashed, left };

class Cluster : public world::World<node::Node, membership::Event> {
  public:
    explicit Cluster(std::uint64_t seed) : World(seed, {.loss = 0.02, .duplicate = 0.01, .latency_max = 20ms}) {}

    void start(std::size_t i) {
        boot(i, [&](const Host& host, TimePoint at) {
            return std::make_unique<node::Node>(node::Config{.cluster = cluster_id("w"), .membership = {}}, record(i),
                                                rng().next() ^ host.id.value, at);
        });
        // Any live peer is a seed as good as any other.
        std::vector<Endpoint> seeds;
        for (std::size_t other = 0; other < size() && seeds.size() < 2; ++other)
            if (other != i && fates_[other] == Fate::up) seeds.push_back(host(other).endpoint);
        command(i, [&](node::Node& node) { node.join(now(), seeds); });
        command(i, [&](node::Node& node) {
            for (std::uint16_t slot = 0; slot < 2; ++slot) node.set_replica(now(), replica(i, slot));
        });
        fates_[i] = Fate::up;
    }

    void add() {
        const std::size_t i = add_host();
        fates_.push_back(Fate::crashed);
        start(i);
    }

    // One random turn of somebody's life; at least half of the hosts stay up.
    void churn() {
        const auto i = static_cast<std::size_t>(rng().below(size()));
        std::size_t up = 0;
        for (const Fate fate : fates_) up += fate == Fate::up;
        if (fates_[i] != Fate::up) {
            start(i);
        } else if (up * 2 > size()) {
            if (rng().below(3) == 0) {
                command(i, [&](node::Node& node) { node.leave(now()); });
                run_for(2s);
                fates_[i] = Fate::left;
            } else {
                fates_[i] = Fate::crashed;
            }
            crash(i);
        }
        run_for(std::chrono::milliseconds(rng().below(2000)));
    }

    // What one node believes: who is alive, and the ring it routes by.
    std::string picture(std::size_t i) {
        std::string text;
        for (const auto& member : core(i).members()->members)
            if (member->liveness == membership::Liveness::alive)
                text += to_string(member->record->id) + ":" + std::to_string(member->record->generation.value) + " ";
        for (const router::Pool& pool : core(i).routing()->pools()) text += std::to_string(pool.ring->digest());
        return text;
    }

    std::string truth() {
        std::set<PeerId> live;
        for (std::size_t i = 0; i < size(); ++i)
            if (fates_[i] == Fate::up) live.insert(host(i).id);
        std::string text;
        for (const PeerId id : live)
            for (std::size_t i = 0; i < size(); ++i)
                if (host(i).id == id) text += to_string(id) + ":" + std::to_string(host(i).generation) + " ";
        return text;
    }

    // Empty when every live node's picture is the truth and all are the same.
    std::string fault() {
        const std::string expected = truth();
        std::string first;
        for (std::size_t i = 0; i < size(); ++i) {
            if (fates_[i] != Fate::up) continue;
            const std::string seen = picture(i);
            if (first.empty()) first = seen;
            if (!seen.starts_with(expected)) return "host " + std::to_string(i) + " does not see the truth";
            if (seen != first) return "host " + std::to_string(i) + " has another ring";
        }
        return {};
    }

    Duration settle(Duration most) {
        const TimePoint start = now();
        while (now() - start < most && !fault().empty()) run_for(250ms);
        return now() - start;
    }

  private:
    wire::PeerRecord record(std::size_t i) const {
        wire::PeerRecord record;
        record.id = host(i).id;
        record.generation = Generation{host(i).generation};
        record.name = "peer-" + std::to_string(i);
        record.state = wire::PeerState::starting;
        record.gossip = record.link = record.http = host(i).endpoint;
        record.region = "r";
        record.rack = "rack-" + std::to_string(i % 16);
        return record;
    }

    wire::ReplicaRecord replica(std::size_t i, std::uint16_t slot) const {
        wire::ReplicaRecord replica;
        replica.id = {host(i).id, deployment_id("chat"), slot};
        replica.state = wire::ReplicaState::ready;
        replica.deployment = replica.role = "chat";
        replica.model = "m";
        replica.version = "1";
        replica.in_flight_limit = 8;
        replica.context_tokens = 2048;
        return replica;
    }

    std::vector<Fate> fates_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(churn)

BOOST_AUTO_TEST_CASE(three_hundred_nodes_end_with_one_picture_and_one_ring_after_churn) {
    Cluster cluster(2026);
    for (std::size_t i = 0; i < 300; ++i) {
        cluster.add();
        cluster.run_for(10ms);
    }
    BOOST_TEST(cluster.settle(15s) < 15s, "after the joins: " << cluster.fault());
    for (int turn = 0; turn < 40; ++turn) cluster.churn();
    BOOST_TEST(cluster.settle(30s) < 30s, "after the churn: " << cluster.fault());
}

BOOST_AUTO_TEST_CASE(small_clusters_end_with_one_picture_whatever_the_seed) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Cluster cluster(seed);
        for (std::size_t i = 0; i < 3 + seed % 5; ++i) cluster.add();
        for (int turn = 0; turn < 15; ++turn) cluster.churn();
        BOOST_TEST(cluster.settle(30s) < 30s, "seed " << seed << ": " << cluster.fault());
    }
}

BOOST_AUTO_TEST_SUITE_END()
