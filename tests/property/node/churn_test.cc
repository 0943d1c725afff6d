// The node object, as production drives it, on a virtual clock: whatever joins, crashes, leaves and restarts happen,
// all who live end with one picture of the cluster and one ring.
#include <boost/test/unit_test.hpp>
#include <set>
#include <string>
#include <vector>

#include "support/node_cluster.h"
#include "support/print.h"

using namespace exa;
using namespace std::chrono_literals;

namespace {

enum class Fate : std::uint8_t { up, crashed, left };

class Cluster : public test::NodeCluster {
  public:
    explicit Cluster(std::uint64_t seed) : NodeCluster(seed, {.loss = 0.02, .duplicate = 0.01, .latency_max = 20ms}) {}

    void start(std::size_t i) {
        // Any live peer is a seed as good as any other.
        std::vector<std::size_t> seeds;
        for (std::size_t other = 0; other < size() && seeds.size() < 2; ++other)
            if (other != i && fates_[other] == Fate::up) seeds.push_back(other);
        NodeCluster::start(i, seeds);
        command(i, [&](node::Node& node) {
            for (std::uint16_t slot = 0; slot < 2; ++slot) node.set_replica(now(), replica(i, slot));
        });
        fates_[i] = Fate::up;
    }

    void add() {
        fates_.push_back(Fate::crashed);
        start(add_peer());
    }

    // One random turn of somebody's life; at least half of the peers stay up.
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
            if (fates_[i] == Fate::up) live.insert(peer(i).id);
        std::string text;
        for (const PeerId id : live)
            for (std::size_t i = 0; i < size(); ++i)
                if (peer(i).id == id) text += to_string(id) + ":" + std::to_string(peer(i).generation) + " ";
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
            if (!seen.starts_with(expected)) return "peer " + std::to_string(i) + " does not see the truth";
            if (seen != first) return "peer " + std::to_string(i) + " has another ring";
        }
        return {};
    }

    Duration converge(Duration most) {
        return run_until([&] { return fault().empty(); }, most);
    }

  private:
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
    BOOST_TEST(cluster.converge(15s) < 15s, "after the joins: " << cluster.fault());
    for (int turn = 0; turn < 40; ++turn) cluster.churn();
    BOOST_TEST(cluster.converge(30s) < 30s, "after the churn: " << cluster.fault());
}

BOOST_AUTO_TEST_CASE(small_clusters_end_with_one_picture_whatever_the_seed) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Cluster cluster(seed);
        for (std::size_t i = 0; i < 3 + seed % 5; ++i) cluster.add();
        for (int turn = 0; turn < 15; ++turn) cluster.churn();
        BOOST_TEST(cluster.converge(30s) < 30s, "seed " << seed << ": " << cluster.fault());
    }
}

BOOST_AUTO_TEST_SUITE_END()
