// Rotation of the cluster's keys by the node object itself: whatever commands operators give at whatever peers, while
// peers store late, crash, restart and are cut off from one another, any two peers always hold a key in common, and
// once the network is whole all end with one ring and see each other.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "io/crypto/openssl_crypto.h"
#include "support/node_cluster.h"
#include "support/print.h"

using namespace exa;
using namespace std::chrono_literals;

namespace {

const io::crypto::OpenSslCrypto crypto;

class Cluster : public test::NodeCluster {
  public:
    Cluster(std::uint64_t seed, std::size_t peers)
        : NodeCluster(seed, {.loss = 0.02, .duplicate = 0.01, .latency_max = 20ms}) {
        const std::vector first{fresh_key()};
        for (std::size_t i = 0; i < peers; ++i) {
            add_peer();
            disks_.emplace_back().add_first(first);
            members_.emplace_back();
        }
        for (std::size_t i = 0; i < peers; ++i) start(i);
        run_for(5s);
    }

    ClusterKey fresh_key() {
        KeySecret secret;
        for (auto& byte : secret) byte = static_cast<std::uint8_t>(rng().next());
        return cluster_key(crypto, secret);
    }

    void start(std::size_t i) {
        NodeCluster::start(i, {(i + 1) % size(), 0},
                           {.cluster = {}, .membership = {}, .keys = disks_[i], .crypto = &crypto}, members_[i]);
    }

    void remember(std::size_t i) {
        if (!is_up(i)) return;
        command(i, [&](node::Node& node) {
            if (const auto file = node.take_members_file(now())) members_[i] = membership::parse_members(*file).value();
        });
    }

    void store(std::size_t i) {
        if (!is_up(i) || core(i).keys() == core(i).stored_keys()) return;
        disks_[i] = core(i).keys();
        command(i, [&](node::Node& node) { node.keys_stored(now(), disks_[i]); });
    }

    // A command at a random peer; counts the keys that came into use and went.
    void change_keys() {
        const auto i = static_cast<std::size_t>(rng().below(size()));
        if (!is_up(i)) return;
        const auto& installed = core(i).keys().installed();
        const KeyId id = installed[rng().below(installed.size())].id;
        switch (rng().below(4)) {
            case 0:
                command(i, [&](node::Node& node) { (void)node.add_key(now(), fresh_key(), insist); });
                break;
            case 1:
                command(i, [&](node::Node& node) { used_ += node.use_key(now(), id, insist).has_value(); });
                break;
            default:
                command(i, [&](node::Node& node) { removed_ += node.remove_key(now(), id, insist).has_value(); });
        }
    }

    void turn() {
        change_keys();
        const auto i = static_cast<std::size_t>(rng().below(size()));
        switch (rng().below(12)) {
            case 0:
                for (auto& peer : peers()) peer.side = static_cast<int>(rng().below(2));
                break;
            case 1:
            case 2:
                heal();
                break;
            case 3:
                if (is_up(i))
                    crash(i);
                else
                    start(i);
                break;
            default:
                break;
        }
        for (std::size_t peer = 0; peer < size(); ++peer)
            if (rng().below(2) == 0) store(peer);
        for (std::size_t peer = 0; peer < size(); ++peer) remember(peer);
        run_for(std::chrono::milliseconds(rng().below(rng().below(5) == 0 ? 60'000 : 3'000)));
    }

    void heal() {
        for (auto& peer : peers()) peer.side = 0;
    }

    // Empty while any two peers, by what is on their disks or in their memory, hold a key in common.
    std::string parted() {
        for (std::size_t a = 0; a < size(); ++a)
            for (std::size_t b = 0; b < a; ++b) {
                const auto& ring_a = is_up(a) ? core(a).keys() : disks_[a];
                const auto& ring_b = is_up(b) ? core(b).keys() : disks_[b];
                bool common = false;
                for (const ClusterKey& key : ring_a.installed()) common = common || ring_b.find(key.id) != nullptr;
                if (!common) return "peers " + std::to_string(a) + " and " + std::to_string(b) + " share no key";
            }
        return {};
    }

    // Empty when all are up, see each other alive, and hold one ring.
    std::string fault() {
        for (std::size_t i = 0; i < size(); ++i) {
            if (!is_up(i)) return "peer " + std::to_string(i) + " is down";
            if (!(core(i).stored_keys() == core(0).keys())) return "peer " + std::to_string(i) + " has another ring";
            for (std::size_t other = 0; other < size(); ++other) {
                const auto* member = core(i).members()->find(peer(other).id);
                if (member == nullptr || member->liveness != membership::Liveness::alive)
                    return "peer " + std::to_string(i) + " does not see peer " + std::to_string(other);
                if (member->record->primary_key != core(0).keys().primary()->id)
                    return "peer " + std::to_string(other) + " is not said to use the primary";
            }
        }
        return {};
    }

    // With the network whole and all peers up.
    Duration converge(Duration most) {
        heal();
        for (std::size_t i = 0; i < size(); ++i)
            if (!is_up(i)) start(i);
        const auto stored_and_equal = [&] {
            for (std::size_t i = 0; i < size(); ++i) store(i);
            return fault().empty();
        };
        return run_until(stored_and_equal, most);
    }

    std::uint64_t used() const { return used_; }
    std::uint64_t removed() const { return removed_; }

    bool insist = false;

  private:
    std::vector<membership::KeyRing> disks_;
    std::vector<std::vector<membership::RememberedMember>> members_;
    std::uint64_t used_ = 0;
    std::uint64_t removed_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(rotation_property)

BOOST_AUTO_TEST_CASE(no_sequence_of_commands_cuts_anybody_off) {
    std::uint64_t used = 0;
    std::uint64_t removed = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        Cluster cluster(seed, 3 + seed % 4);
        for (int turn = 0; turn < 60; ++turn) {
            cluster.turn();
            BOOST_TEST(cluster.parted().empty(), "seed " << seed << " turn " << turn << ": " << cluster.parted());
        }
        BOOST_TEST(cluster.converge(60s) < 60s, "seed " << seed << ": " << cluster.fault());
        used += cluster.used();
        removed += cluster.removed();
    }
    // Or it would have shown nothing.
    BOOST_TEST(used > 50U);
    BOOST_TEST(removed > 30U);
}

BOOST_AUTO_TEST_CASE(insisting_does_cut_peers_off_so_that_the_rules_are_what_keeps_them) {
    bool any = false;
    for (std::uint64_t seed = 1; seed <= 30 && !any; ++seed) {
        Cluster cluster(seed, 4);
        cluster.insist = true;
        for (int turn = 0; turn < 60 && !any; ++turn) {
            cluster.turn();
            any = !cluster.parted().empty();
        }
    }
    BOOST_TEST(any);
}

BOOST_AUTO_TEST_SUITE_END()
