#include "membership/probe_order.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "samples.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;

namespace {

// Members with the ids 1 .. peers, as the one with id `self` sees them.
Roster seen_by(std::uint64_t self, std::uint64_t peers) {
    Roster roster(samples::start, samples::record(self), 1, 1000);
    for (std::uint64_t id = 1; id <= peers; ++id)
        if (id != self) roster.apply(samples::start, samples::whole(id));
    return roster;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(probe_order)

BOOST_AUTO_TEST_CASE(a_cycle_of_rounds_takes_every_step_once) {
    for (const std::size_t peers : {2U, 3U, 4U, 7U, 12U, 13U, 256U}) {
        const auto steps = static_cast<std::uint32_t>(peers - 1);
        for (std::uint32_t cycle = 0; cycle < 5; ++cycle) {
            std::set<std::size_t> taken;
            for (std::uint32_t i = 0; i < steps; ++i) taken.insert(probe_step(cycle * steps + i, peers));
            BOOST_TEST(taken.size() == steps);
            BOOST_TEST(*taken.begin() == 1U);
            BOOST_TEST(*taken.rbegin() == peers - 1);
        }
    }
}

BOOST_AUTO_TEST_CASE(in_each_round_every_peer_is_probed_by_exactly_one_other) {
    constexpr std::uint64_t peers = 20;
    std::vector<Roster> rosters;
    std::vector<ProbeOrder> orders(peers);
    for (std::uint64_t id = 1; id <= peers; ++id) rosters.push_back(seen_by(id, peers));
    for (std::uint32_t round = 100; round < 140; ++round) {
        std::set<std::uint64_t> probed;
        for (std::size_t i = 0; i < peers; ++i) {
            const PeerId target = *orders[i].next(rosters[i], round);
            BOOST_TEST(target != rosters[i].self());
            probed.insert(target.value);
        }
        BOOST_TEST(probed.size() == peers);
    }
}

BOOST_AUTO_TEST_CASE(alone_there_is_nobody_to_probe) {
    Roster roster = samples::roster(0);
    ProbeOrder order;
    BOOST_TEST(!order.next(roster, 1).has_value());
    order.prioritize(PeerId{44});
    BOOST_TEST(!order.next_prioritized(roster).has_value());
}

BOOST_AUTO_TEST_CASE(the_dead_are_passed_over_and_the_new_are_probed_within_a_cycle) {
    Roster roster = samples::roster(9);
    ProbeOrder order;
    (void)order.next(roster, 1);
    roster.set_liveness(samples::start, PeerId{101}, Liveness::dead, Incarnation{});
    roster.apply(samples::start, samples::whole(500));
    std::set<std::uint64_t> probed;
    for (std::uint32_t round = 9; round < 18; ++round) probed.insert(order.next(roster, round)->value);
    BOOST_TEST(probed.contains(500));
    BOOST_TEST(!probed.contains(101));
    BOOST_TEST(probed.size() == 9U);
}

BOOST_AUTO_TEST_CASE(the_hurried_come_in_turn_once_each_and_are_bounded) {
    Roster roster = samples::roster(200);
    ProbeOrder order;
    order.prioritize(PeerId{150});
    order.prioritize(PeerId{150});
    order.prioritize(PeerId{160});
    BOOST_TEST(order.next_prioritized(roster) == PeerId{150});
    BOOST_TEST(order.next_prioritized(roster) == PeerId{160});
    BOOST_TEST(!order.has_prioritized());
    for (std::uint64_t id = 101; id <= 300; ++id) order.prioritize(PeerId{id});
    for (std::size_t i = 0; i < ProbeOrder::prioritized_max; ++i)
        BOOST_TEST(order.next_prioritized(roster) == PeerId{101 + i});
    BOOST_TEST(!order.has_prioritized());
}

BOOST_AUTO_TEST_CASE(many_peers_that_hear_one_another_tick_no_faster_than_one) {
    std::vector<ProbeRounds> peers(50);
    for (int interval = 0; interval < 10; ++interval)
        for (ProbeRounds& peer : peers) {
            const std::uint32_t round = peer.tick();
            for (ProbeRounds& other : peers) other.hear(round);
        }
    for (const ProbeRounds& peer : peers) BOOST_TEST(peer.now() == 10U);
}

BOOST_AUTO_TEST_CASE(a_newcomer_is_in_step_after_one_tick_and_numbers_may_wrap) {
    ProbeRounds peer;
    peer.hear(70'000);
    peer.hear(60'000);
    BOOST_TEST(peer.tick() == 70'000U);
    BOOST_TEST(peer.tick() == 70'001U);
    ProbeRounds old;
    old.hear(0x7fffffff);
    old.tick();
    old.hear(0xfffffffe);
    BOOST_TEST(old.tick() == 0xfffffffeU);
    old.tick();
    BOOST_TEST(old.tick() == 0U);
    old.hear(5);
    BOOST_TEST(old.tick() == 5U);
}

BOOST_AUTO_TEST_SUITE_END()
