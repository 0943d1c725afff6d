#include "router/chooser.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

#include "support/print.h"
#include "unit/router/cluster.h"

using namespace exa;
using namespace exa::router;
using namespace exa::router::test;

namespace {

// A pool of `peers` replicas, one a peer: slot = peer - 1.
struct World {
    explicit World(std::uint64_t peers, std::uint32_t limit = 0) : cluster(peers, 1, limit), tracker(config), rng(1) {
        adopt();
    }
    void adopt() {
        view = cluster.routing_view();
        tracker.handle_view(*view);
    }
    std::optional<Choice> choose(const Need& need) {
        return router::choose(start, view->pools().front(), tracker, need, config, rng);
    }
    std::vector<std::uint32_t> ring_order(std::uint64_t position) const {
        std::vector<std::uint32_t> order;
        view->pools().front().ring->walk(position, [&](std::uint32_t member) {
            order.push_back(member);
            return true;
        });
        return order;
    }

    Cluster cluster;
    Config config;
    ReplicaTracker tracker;
    Rng rng;
    std::shared_ptr<const RoutingView> view;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(chooser)

BOOST_AUTO_TEST_CASE(a_session_takes_the_first_of_the_ring_in_good_standing) {
    World world(6);
    const auto order = world.ring_order(99);
    Need need{.position = 99};
    BOOST_TEST(world.choose(need)->replica == order[0]);
    for (std::size_t down = 0; down < 5; ++down) {
        world.tracker.handle_peer_broken(start, PeerId{order[down] + 1});
        const auto choice = world.choose(need);
        BOOST_TEST(choice->replica == order[down + 1]);
        BOOST_TEST(choice->reason == Reason::session_moved);
    }
    world.tracker.handle_peer_broken(start, PeerId{order[5] + 1});
    BOOST_TEST(!world.choose(need).has_value());
}

BOOST_AUTO_TEST_CASE(the_reason_is_the_owners_even_when_a_later_one_is_passed_over_too) {
    World world(6);
    const auto order = world.ring_order(99);
    world.tracker.handle_busy(start, order[0]);
    world.tracker.handle_peer_broken(start, PeerId{order[1] + 1});
    const auto choice = world.choose({.position = 99});
    BOOST_TEST(choice->replica == order[2]);
    BOOST_TEST(choice->reason == Reason::session_spilled);
}

BOOST_AUTO_TEST_CASE(a_session_that_was_turned_away_spreads_over_the_less_loaded_of_the_next_on_the_ring) {
    World world(12);
    const auto order = world.ring_order(99);
    const Need need{.position = 99, .spill = Spill{std::nullopt, 4}};
    world.tracker.handle_busy(start, order[0]);
    world.tracker.start(start, order[2]);
    std::set<std::uint32_t> chosen;
    for (int i = 0; i < 200; ++i) {
        const auto choice = world.choose(need);
        BOOST_TEST(choice->reason == Reason::session_spilled);
        chosen.insert(choice->replica);
    }
    BOOST_TEST(chosen == (std::set{order[1], order[3], order[4]}));
}

BOOST_AUTO_TEST_CASE(a_session_whose_owner_is_out_of_reach_moves_to_the_very_next_however_far_it_had_spread) {
    World world(12);
    const auto order = world.ring_order(99);
    world.tracker.handle_peer_broken(start, PeerId{order[0] + 1});
    for (int i = 0; i < 50; ++i)
        BOOST_TEST(world.choose({.position = 99, .spill = Spill{std::nullopt, 8}})->replica == order[1]);
}

BOOST_AUTO_TEST_CASE(a_kept_spill_holds_only_in_good_standing) {
    World world(6);
    const auto order = world.ring_order(99);
    const Need need{.position = 99, .spill = Spill{world.tracker.id(order[3])}};
    BOOST_TEST(world.choose(need)->replica == order[3]);
    BOOST_TEST(world.choose(need)->reason == Reason::spill_kept);
    world.tracker.handle_busy(start, order[3]);
    BOOST_TEST(world.choose(need)->replica == order[0]);
    const Need gone{.position = 99, .spill = Spill{ReplicaId{PeerId{77}, DeploymentId{1}, 0}}};
    BOOST_TEST(world.choose(gone)->replica == order[0]);
}

BOOST_AUTO_TEST_CASE(a_long_way_to_the_first_good_one_is_still_found) {
    World world(60);
    const auto order = world.ring_order(5);
    for (std::size_t i = 0; i + 1 < order.size(); ++i) world.tracker.handle_peer_broken(start, PeerId{order[i] + 1});
    BOOST_TEST(world.choose({.position = 5})->replica == order.back());
    BOOST_TEST(world.choose({})->replica == order.back());
}

BOOST_AUTO_TEST_CASE(without_a_session_the_less_loaded_of_two_is_taken) {
    World world(2);
    world.tracker.start(start, 0);
    for (int i = 0; i < 20; ++i) BOOST_TEST(world.choose({})->replica == 1u);
    World heavy(2);
    heavy.cluster.replica(1, 0).weight = 4;
    heavy.adopt();
    for (int i = 0; i < 3; ++i) heavy.tracker.start(start, 0);
    heavy.tracker.start(start, 1);
    for (int i = 0; i < 20; ++i) BOOST_TEST(heavy.choose({})->replica == 0u);
}

BOOST_AUTO_TEST_CASE(equals_are_drawn_evenly) {
    World world(4);
    std::map<std::uint32_t, int> hits;
    for (int i = 0; i < 4'000; ++i) ++hits[world.choose({})->replica];
    for (std::uint32_t slot = 0; slot < 4; ++slot) {
        BOOST_TEST(hits[slot] > 850);
        BOOST_TEST(hits[slot] < 1'150);
    }
}

BOOST_AUTO_TEST_CASE(of_bad_ones_the_least_bad_is_taken_and_of_equals_the_less_loaded) {
    World world(4, 3);
    world.cluster.peer(1).liveness = membership::Liveness::suspect;
    world.adopt();
    for (std::uint32_t slot = 1; slot < 4; ++slot) {
        wire::LoadReport load;
        load.replica = world.tracker.id(slot);
        load.in_flight = 10 - slot;
        load.age = std::chrono::seconds(1);
        world.tracker.handle_load(start, slot, load);
    }
    const auto choice = world.choose({});
    BOOST_TEST(choice->replica == 3u);
    BOOST_TEST(choice->reason == Reason::last_resort);
    for (std::uint32_t slot = 1; slot < 4; ++slot) world.tracker.handle_busy(start, slot);
    BOOST_TEST(world.choose({})->replica == 0u);
}

BOOST_AUTO_TEST_CASE(tried_small_and_numerically_different_replicas_do_not_fit) {
    World world(4);
    world.cluster.replica(2, 0).context_tokens = 100;
    world.cluster.replica(3, 0).numerics = "other";
    world.adopt();
    const std::vector<ReplicaId> tried{world.tracker.id(0)};
    const Need need{.prompt_tokens = 101, .numerics = world.tracker.numerics(0), .tried = tried};
    for (int i = 0; i < 20; ++i) BOOST_TEST(world.choose(need)->replica == 3u);
    BOOST_TEST(!can_try(world.tracker, 0, need));
    BOOST_TEST(!can_try(world.tracker, 1, need));
    BOOST_TEST(!can_try(world.tracker, 2, need));
    world.tracker.handle_peer_broken(start, PeerId{4});
    BOOST_TEST(!world.choose(need).has_value());
}

BOOST_AUTO_TEST_CASE(a_prefix_takes_the_first_of_its_few_that_is_not_above_the_mean) {
    World world(8);
    const auto order = world.ring_order(42);
    const Need need{.prefix_hash = 42};
    for (std::size_t i = 0; i < 4; ++i) {
        BOOST_TEST(world.choose(need)->replica == order[i]);
        BOOST_TEST(world.choose(need)->reason == Reason::warm_prefix);
        world.tracker.start(start, order[i]);
        world.tracker.start(start, order[i]);
    }
    BOOST_TEST(world.choose(need)->reason == Reason::least_loaded);
}

BOOST_AUTO_TEST_SUITE_END()
