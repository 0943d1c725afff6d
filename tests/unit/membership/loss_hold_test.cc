#include "membership/loss_hold.h"

#include <boost/test/unit_test.hpp>

#include "parts.h"

using namespace exa;
using namespace exa::membership;
using namespace exa::membership::samples;

namespace {

// Peers 101 .. 100 + dead of `others` are dead.
Bench with_dead(std::size_t others, std::size_t dead) {
    Bench bench(others);
    for (std::uint64_t id = 101; id < 101 + dead; ++id) bench.set_liveness(id, Liveness::dead);
    return bench;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(loss_hold)

BOOST_AUTO_TEST_CASE(losses_are_held_when_more_than_a_third_of_all_peers_are_dead) {
    // Nine peers with ourselves.
    LossHold hold;
    BOOST_TEST(!hold.update(with_dead(8, 3).roster));
    BOOST_TEST(hold.update(with_dead(8, 4).roster));
    BOOST_TEST(hold.is_held());
}

BOOST_AUTO_TEST_CASE(a_confirmation_releases_what_is_held_until_the_cluster_has_healed) {
    LossHold hold;
    hold.confirm();
    BOOST_TEST(hold.update(with_dead(8, 5).roster));
    hold.confirm();
    BOOST_TEST(!hold.update(with_dead(8, 5).roster));
    BOOST_TEST(!hold.update(with_dead(8, 6).roster));
    BOOST_TEST(!hold.update(with_dead(8, 1).roster));
    BOOST_TEST(hold.update(with_dead(8, 5).roster));
}

BOOST_AUTO_TEST_CASE(a_dead_peer_whose_name_is_held_again_does_not_count) {
    Bench bench = with_dead(8, 4);
    wire::PeerRecord again = record(300);
    again.name = record(101).name;
    bench.roster.apply(start, whole(again));
    BOOST_TEST(LossHold::has_live_namesake(bench.roster, PeerId{101}));
    BOOST_TEST(!LossHold::has_live_namesake(bench.roster, PeerId{102}));
    LossHold hold;
    BOOST_TEST(!hold.update(bench.roster));
}

BOOST_AUTO_TEST_CASE(peers_that_are_lost_already_do_not_count) {
    Bench bench = with_dead(8, 4);
    for (std::uint64_t id = 101; id < 103; ++id) bench.set_liveness(id, Liveness::lost);
    LossHold hold;
    BOOST_TEST(!hold.update(bench.roster));
}

BOOST_AUTO_TEST_SUITE_END()
