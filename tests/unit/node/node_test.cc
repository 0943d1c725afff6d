#include "node/node.h"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <vector>

#include "io/crypto/openssl_crypto.h"
#include "node/errc.h"
#include "support/node_cluster.h"
#include "support/print.h"

BOOST_AUTO_TEST_SUITE(node_object)

using namespace exa;
using namespace std::chrono_literals;

namespace {

struct Cluster : test::NodeCluster {
    explicit Cluster(std::size_t count) : NodeCluster(7, {}) {
        for (std::size_t i = 0; i < count; ++i) add_peer();
        for (std::size_t i = 0; i < count; ++i) start(i, {0});
        run_for(3s);
    }

    void set_replica(std::size_t i, std::uint16_t slot, wire::ReplicaState state = wire::ReplicaState::ready) {
        command(i, [&](node::Node& node) { node.set_replica(now(), replica(i, slot, state)); });
    }
    std::size_t ready_seen_by(std::size_t i) {
        std::size_t ready = 0;
        for (const router::Pool& pool : core(i).routing()->pools()) ready += pool.count;
        return ready;
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(replica_reaches_every_routing_view_when_it_is_ready_and_not_before) {
    Cluster cluster(3);
    cluster.set_replica(1, 0, wire::ReplicaState::warming);
    cluster.run_for(5s);
    for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(cluster.ready_seen_by(i) == 0U);
    cluster.set_replica(1, 0);
    cluster.run_for(5s);
    for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(cluster.ready_seen_by(i) == 1U);
    BOOST_TEST(cluster.refused() == 0U);
}

BOOST_AUTO_TEST_CASE(replicas_stay_sorted_and_are_replaced_by_id) {
    Cluster cluster(1);
    for (const std::uint16_t slot : std::vector<std::uint16_t>{2, 0, 1, 0}) cluster.set_replica(0, slot);
    const auto& replicas = cluster.core(0).members()->find(cluster.peer(0).id)->record->replicas;
    BOOST_TEST_REQUIRE(replicas.size() == 3U);
    for (std::uint16_t slot = 0; slot < 3; ++slot) BOOST_TEST(replicas[slot].id.slot == slot);
}

BOOST_AUTO_TEST_CASE(views_are_the_same_objects_until_something_changes) {
    Cluster cluster(1);
    node::Node& one = cluster.core(0);
    const auto members = one.members();
    const auto routing = one.routing();
    BOOST_TEST(one.members() == members);
    BOOST_TEST(one.routing() == routing);
    cluster.set_replica(0, 0);
    BOOST_TEST(one.members() != members);
    BOOST_TEST(one.routing() != routing);
}

BOOST_AUTO_TEST_CASE(draining_peer_is_marked_in_every_routing_view) {
    Cluster cluster(2);
    cluster.set_replica(0, 0);
    cluster.run_for(3s);
    cluster.command(0, [&](node::Node& node) { node.set_peer_state(cluster.now(), wire::PeerState::draining); });
    cluster.run_for(3s);
    for (std::size_t i = 0; i < 2; ++i) {
        const auto view = cluster.core(i).routing();
        BOOST_TEST_REQUIRE(view->replicas().size() == 1U);
        BOOST_TEST(view->replicas().front().draining);
    }
}

BOOST_AUTO_TEST_CASE(starting_peer_serves_once_it_has_joined) {
    Cluster cluster(2);
    for (std::size_t i = 0; i < 2; ++i)
        for (const auto& member : cluster.core(i).members()->members)
            BOOST_TEST(member->record->state == wire::PeerState::serving);
}

BOOST_AUTO_TEST_CASE(a_peer_that_has_not_met_its_cluster_again_decides_nothing_for_it_unless_forced) {
    const io::crypto::OpenSslCrypto crypto;
    membership::KeyRing keys;
    keys.add_first(std::vector{cluster_key(crypto, KeySecret{1})});
    const ClusterKey fresh = cluster_key(crypto, KeySecret{2});
    test::NodeCluster cluster(7, {});
    cluster.add_peer();
    const Endpoint elsewhere = *parse_endpoint("10.9.9.9:7946");
    cluster.start(0, {}, {.cluster = {}, .membership = {}, .keys = keys, .crypto = &crypto},
                  {{PeerId{2}, elsewhere, "peer-2"}});
    cluster.command(0, [&](node::Node& one) {
        const TimePoint now = cluster.now();
        BOOST_TEST(one.confirm_dead(false).error().code == node::errc::not_rejoined);
        BOOST_TEST(one.add_key(now, fresh, false).error().code == node::errc::not_rejoined);
        BOOST_TEST(one.keys().installed().size() == 1U);
        BOOST_TEST(!one.add_key(now, fresh, true).value().empty());
        BOOST_TEST(one.use_key(now, fresh.id, false).error().code == node::errc::not_rejoined);
        const std::string warning = one.use_key(now, fresh.id, true).value();
        BOOST_TEST(warning.find("peer-2") != std::string::npos, warning);
        BOOST_TEST(!one.confirm_dead(true).value().empty());
    });
}

BOOST_AUTO_TEST_CASE(leaving_twice_is_leaving_and_later_commands_change_nothing) {
    Cluster cluster(2);
    cluster.command(0, [&](node::Node& node) {
        node.leave(cluster.now());
        node.leave(cluster.now());
        node.set_peer_state(cluster.now(), wire::PeerState::serving);
        node.set_replica(cluster.now(), cluster.replica(0, 0));
    });
    cluster.run_for(3s);
    const membership::Member* left = cluster.core(1).members()->find(cluster.peer(0).id);
    BOOST_TEST_REQUIRE(left != nullptr);
    BOOST_TEST(left->liveness == membership::Liveness::left);
    BOOST_TEST(left->record->replicas.empty());
}

BOOST_AUTO_TEST_SUITE_END()
