#include "membership/probe_order.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

#include "samples.h"

using namespace exa;
using namespace exa::membership;

BOOST_AUTO_TEST_SUITE(probe_order)

BOOST_AUTO_TEST_CASE(every_round_probes_each_live_peer_once_in_changing_order) {
    Roster roster = samples::roster(20);
    ProbeOrder order;
    Rng rng(1);
    std::set<std::vector<std::uint64_t>> rounds;
    for (int round = 0; round < 5; ++round) {
        std::vector<std::uint64_t> peers;
        for (int i = 0; i < 20; ++i) peers.push_back(order.next(roster, rng)->value);
        BOOST_TEST(std::set(peers.begin(), peers.end()).size() == 20U);
        rounds.insert(peers);
    }
    BOOST_TEST(rounds.size() == 5U);
}

BOOST_AUTO_TEST_CASE(alone_there_is_nobody_to_probe) {
    Roster roster = samples::roster(0);
    ProbeOrder order;
    Rng rng(1);
    BOOST_TEST(!order.next(roster, rng).has_value());
    order.hurry(PeerId{44});
    BOOST_TEST(!order.next(roster, rng).has_value());
}

BOOST_AUTO_TEST_CASE(the_dead_are_passed_over_and_the_new_get_their_turn_in_the_same_round) {
    Roster roster = samples::roster(9);
    ProbeOrder order;
    Rng rng(2);
    const PeerId first = *order.next(roster, rng);
    const PeerId dead = first == PeerId{101} ? PeerId{102} : PeerId{101};
    roster.set_liveness(samples::start, dead, Liveness::dead, Incarnation{});
    roster.apply(samples::start, samples::whole(500));
    order.add(PeerId{500}, rng);
    std::set<std::uint64_t> rest;
    for (int i = 0; i < 8; ++i) rest.insert(order.next(roster, rng)->value);
    BOOST_TEST(rest.contains(500));
    BOOST_TEST(!rest.contains(dead.value));
    BOOST_TEST(!rest.contains(first.value));
    BOOST_TEST(rest.size() == 8U);
}

BOOST_AUTO_TEST_CASE(the_hurried_come_first_once_each_and_are_bounded) {
    Roster roster = samples::roster(200);
    ProbeOrder order;
    Rng rng(3);
    order.hurry(PeerId{150});
    order.hurry(PeerId{150});
    order.hurry(PeerId{160});
    BOOST_TEST((order.next(roster, rng) == PeerId{150}));
    BOOST_TEST((order.next(roster, rng) == PeerId{160}));
    BOOST_TEST(!order.has_hurried());
    for (std::uint64_t id = 101; id <= 300; ++id) order.hurry(PeerId{id});
    for (std::size_t i = 0; i < ProbeOrder::hurried_max; ++i) BOOST_TEST((order.next(roster, rng) == PeerId{101 + i}));
    BOOST_TEST(!order.has_hurried());
}

BOOST_AUTO_TEST_SUITE_END()
