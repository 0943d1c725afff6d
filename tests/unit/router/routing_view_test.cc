#include "router/routing_view.h"

#include <boost/test/unit_test.hpp>

#include "support/print.h"
#include "unit/router/cluster.h"

using namespace exa;
using namespace exa::router;
using namespace exa::router::test;

BOOST_AUTO_TEST_SUITE(routing_view)

BOOST_AUTO_TEST_CASE(an_empty_cluster_has_no_pools) {
    Cluster cluster(0);
    const auto view = cluster.routing_view();
    BOOST_TEST(view->pools().empty());
    BOOST_TEST(view->pools_of("m").empty());
    BOOST_TEST(view->find_pool(1) == nullptr);
}

BOOST_AUTO_TEST_CASE(replicas_stand_in_the_order_of_their_rings_members) {
    Cluster cluster(5, 3);
    for (std::uint64_t p = 1; p <= 5; ++p) cluster.replica(p, 1).model = "other";
    const auto view = cluster.routing_view();
    BOOST_TEST(view->pools().size() == 2u);
    for (const Pool& pool : view->pools()) {
        BOOST_TEST(pool.ring->size() == pool.count);
        BOOST_TEST(pool.hash == pool_hash(pool.key));
        BOOST_TEST(view->find_pool(pool.hash) == &pool);
        for (std::uint32_t m = 0; m < pool.count; ++m) {
            const ReplicaEntry& entry = view->replicas()[pool.first + m];
            BOOST_TEST(entry.record->id == pool.ring->members()[m].id);
            BOOST_TEST(entry.record->model == pool.key.model);
            BOOST_TEST(entry.member->record->id == entry.record->id.peer);
        }
    }
}

BOOST_AUTO_TEST_CASE(only_ready_replicas_of_alive_and_suspect_peers_are_on_the_ring) {
    using wire::ReplicaState;
    for (const auto state :
         {ReplicaState::created, ReplicaState::loading, ReplicaState::warming, ReplicaState::ready,
          ReplicaState::draining, ReplicaState::stopped, ReplicaState::degraded, ReplicaState::failed}) {
        Cluster cluster(2, 1);
        cluster.replica(2, 0).state = state;
        BOOST_TEST(cluster.routing_view()->replicas().size() == (state == ReplicaState::ready ? 2u : 1u));
    }
    using membership::Liveness;
    for (const auto liveness : {Liveness::alive, Liveness::suspect, Liveness::dead, Liveness::lost, Liveness::left}) {
        Cluster cluster(2, 1);
        cluster.peer(2).liveness = liveness;
        const auto view = cluster.routing_view();
        const bool on_ring = liveness == Liveness::alive || liveness == Liveness::suspect;
        BOOST_TEST(view->replicas().size() == (on_ring ? 2u : 1u));
        if (on_ring) BOOST_TEST(view->replicas()[1].suspect == (liveness == Liveness::suspect));
    }
}

BOOST_AUTO_TEST_CASE(a_model_is_known_until_its_last_peer_is_lost) {
    Cluster cluster(1, 1);
    cluster.peer(1).liveness = membership::Liveness::dead;
    BOOST_TEST_REQUIRE(cluster.routing_view()->pools_of("m").size() == 1u);
    BOOST_TEST(cluster.routing_view()->pools_of("m").front().count == 0u);
    BOOST_TEST(cluster.routing_view()->pools_of("m").front().ring->empty());
    cluster.peer(1).liveness = membership::Liveness::lost;
    BOOST_TEST(cluster.routing_view()->pools_of("m").empty());
}

BOOST_AUTO_TEST_CASE(flags_say_draining_and_local) {
    Cluster cluster(3, 1);
    cluster.peer(2).record.state = wire::PeerState::draining;
    cluster.peer(3).record.state = wire::PeerState::leaving;
    const auto view = cluster.routing_view(1);
    BOOST_TEST(view->replicas()[0].local);
    BOOST_TEST(!view->replicas()[0].draining);
    BOOST_TEST(!view->replicas()[1].local);
    BOOST_TEST(view->replicas()[1].draining);
    BOOST_TEST(view->replicas()[2].draining);
}

BOOST_AUTO_TEST_CASE(a_peer_speaks_only_for_its_own_replicas_and_once_for_each) {
    Cluster cluster(2, 2);
    cluster.replica(2, 0).id.peer = PeerId{1};
    auto twice = cluster.replica(2, 1);
    twice.weight = 3;
    cluster.peer(2).record.replicas.push_back(twice);
    const auto view = cluster.routing_view();
    BOOST_TEST(view->replicas().size() == 3u);
    BOOST_TEST(view->replicas()[2].record->weight == 3u);
}

BOOST_AUTO_TEST_CASE(the_layout_is_shared_while_members_stay_and_loads_are_not) {
    Cluster cluster(3, 2);
    const auto first = cluster.routing_view();
    cluster.set_load(cluster.replica(2, 1).id, 7, start);
    const auto second = cluster.routing_view();
    BOOST_TEST(first->layout() == second->layout());
    BOOST_TEST(first->loads().empty());
    BOOST_TEST_REQUIRE(second->loads().size() == 1U);
    BOOST_TEST(second->loads()[0]->entries.at(0).report.in_flight == 7U);
    BOOST_TEST(second->number() == first->number() + 1);
}

BOOST_AUTO_TEST_CASE(a_replica_is_found_by_its_peer_in_whichever_pool_it_is) {
    Cluster cluster(3, 3);
    cluster.replica(2, 1).model = "a";
    const auto layout = cluster.routing_view()->layout();
    BOOST_TEST(layout->replicas_of(PeerId{4}).empty());
    const auto places = layout->replicas_of(PeerId{2});
    BOOST_TEST_REQUIRE(places.size() == 3U);
    for (std::uint16_t slot = 0; slot < 3; ++slot) {
        BOOST_TEST(places[slot].id.slot == slot);
        BOOST_TEST(layout->replicas[places[slot].index].record->id == places[slot].id);
    }
}

BOOST_AUTO_TEST_CASE(a_ring_is_shared_while_its_members_stay) {
    Cluster cluster(3, 2);
    for (std::uint64_t p = 1; p <= 3; ++p) cluster.replica(p, 1).model = "other";
    const auto first = cluster.routing_view();
    cluster.peer(2).liveness = membership::Liveness::suspect;
    const auto second = cluster.routing_view();
    BOOST_TEST(first->layout() != second->layout());
    BOOST_TEST(first->pools()[0].ring == second->pools()[0].ring);
    cluster.replica(2, 1).weight = 2;
    const auto third = cluster.routing_view();
    BOOST_TEST(second->pools_of("m").front().ring == third->pools_of("m").front().ring);
    BOOST_TEST(second->pools_of("other").front().ring != third->pools_of("other").front().ring);
    BOOST_TEST(third->pools_of("other").front().weight_sum == 4u);
}

BOOST_AUTO_TEST_CASE(all_rings_with_members_are_drawn_at_once_for_other_threads) {
    Cluster cluster(3, 3);
    cluster.replica(2, 1).model = "other";
    cluster.replica(3, 1).model = "loading";
    cluster.replica(3, 1).state = wire::ReplicaState::loading;
    const auto view = cluster.routing_view();
    BOOST_TEST_REQUIRE(view->pools().size() == 3U);
    for (const Pool& pool : view->pools()) BOOST_TEST(!pool.ring->is_drawn());
    view->draw_rings();
    for (const Pool& pool : view->pools()) BOOST_TEST(pool.ring->is_drawn() == (pool.count > 0));
}

BOOST_AUTO_TEST_CASE(the_context_of_a_pool_is_the_longest_or_unknown) {
    Cluster cluster(2, 1);
    cluster.replica(1, 0).context_tokens = 4'096;
    BOOST_TEST(cluster.routing_view()->pools().front().context_tokens_max == 4'096u);
    cluster.replica(1, 0).context_tokens = 0;
    BOOST_TEST(cluster.routing_view()->pools().front().context_tokens_max == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
