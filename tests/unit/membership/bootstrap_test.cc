#include "membership/bootstrap.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "parts.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using namespace exa::membership::samples;
using std::chrono::seconds;

namespace {

std::set<Endpoint> dialled(const Effects& effects) {
    std::set<Endpoint> at;
    for (const PacketOut& out : effects.packets) {
        BOOST_TEST(out.packet.kind == wire::PacketKind::ping);
        BOOST_TEST(out.with_record);
        at.insert(out.at);
    }
    return at;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(bootstrap)

BOOST_AUTO_TEST_CASE(with_no_seed_but_ourselves_we_are_the_first_peer) {
    for (const std::vector<Endpoint>& seeds : {std::vector<Endpoint>{}, std::vector{endpoint(me.value)}}) {
        Bench bench(0);
        Bootstrap bootstrap(start);
        const Effects effects = bootstrap.join(bench.step(), seeds);
        BOOST_TEST(effects.notices == (std::vector{Notice{EventKind::joined_cluster, me}}));
        BOOST_TEST(bootstrap.is_joined());
        BOOST_TEST(!bench.timers.is_set({TimerKind::seeds}));
    }
}

BOOST_AUTO_TEST_CASE(silent_seeds_are_dialled_again_with_growing_waits_up_to_the_longest) {
    Bench bench(0);
    Bootstrap bootstrap(start);
    BOOST_TEST(bootstrap.join(bench.step(), {endpoint(101), endpoint(102)}).packets.empty());
    BOOST_TEST(!bootstrap.is_joined());
    Duration last{0};
    for (int turn = 0; turn < 20; ++turn) {
        bench.now = bench.timers.next();
        BOOST_TEST(dialled(bootstrap.dial_seeds(bench.step())) == (std::set{endpoint(101), endpoint(102)}));
        const Duration wait = bench.timers.next() - bench.now;
        BOOST_TEST(wait >= last);
        BOOST_TEST(wait <= bench.config.seed_backoff_max);
        last = wait;
    }
    BOOST_TEST(last == bench.config.seed_backoff_max);
}

BOOST_AUTO_TEST_CASE(a_joined_peer_dials_new_seeds_at_once) {
    Bench bench(0);
    Bootstrap bootstrap(start);
    bootstrap.join(bench.step(), {});
    BOOST_TEST(dialled(bootstrap.join(bench.step(), {endpoint(101)})) == std::set{endpoint(101)});
    BOOST_TEST(!bench.timers.is_set({TimerKind::seeds}));
}

BOOST_AUTO_TEST_CASE(a_completed_join_ends_the_dialling) {
    Bench bench(0);
    Bootstrap bootstrap(start);
    bootstrap.join(bench.step(), {endpoint(101)});
    BOOST_TEST(bootstrap.complete_join(bench.step()).notices.at(0).kind == EventKind::joined_cluster);
    BOOST_TEST(bootstrap.is_joined());
    BOOST_TEST(!bench.timers.is_set({TimerKind::seeds}));
}

BOOST_AUTO_TEST_CASE(a_seed_that_turns_out_to_be_ourselves_is_dropped_and_the_last_one_makes_us_the_first) {
    Bench bench(0);
    Bootstrap bootstrap(start);
    bootstrap.join(bench.step(), {endpoint(101), endpoint(102)});
    BOOST_TEST(bootstrap.drop_own_address(bench.step(), endpoint(300)).notices.empty());
    BOOST_TEST(bootstrap.drop_own_address(bench.step(), endpoint(101)).notices.empty());
    BOOST_TEST(!bootstrap.is_joined());
    BOOST_TEST(bootstrap.drop_own_address(bench.step(), endpoint(102)).notices.size() == 1U);
    BOOST_TEST(bootstrap.is_joined());
}

BOOST_AUTO_TEST_CASE(dead_peers_are_dialled_for_good_and_live_ones_are_not) {
    Bench bench(3);
    Bootstrap bootstrap(start);
    bootstrap.join(bench.step(), {endpoint(101)});
    bootstrap.complete_join(bench.step());
    BOOST_TEST(bootstrap.redial(bench.step()).packets.empty());
    BOOST_TEST(bench.timers.next() == start + bench.config.redial_interval);
    bench.set_liveness(102, Liveness::dead);
    for (int turn = 0; turn < 100; ++turn)
        BOOST_TEST(dialled(bootstrap.redial(bench.step())) == std::set{endpoint(102)});
}

BOOST_AUTO_TEST_CASE(a_seed_that_is_no_member_and_a_forgotten_peer_are_dialled_until_a_member_has_the_address) {
    Bench bench(1);
    Bootstrap bootstrap(start);
    bootstrap.join(bench.step(), {endpoint(300)});
    bootstrap.complete_join(bench.step());
    bootstrap.remember(endpoint(301));
    std::set<Endpoint> seen;
    for (int turn = 0; turn < 50; ++turn) seen.merge(dialled(bootstrap.redial(bench.step())));
    BOOST_TEST(seen == (std::set{endpoint(300), endpoint(301)}));
    bench.roster.apply(start, whole(300));
    bench.roster.apply(start, whole(301));
    BOOST_TEST(bootstrap.redial(bench.step()).packets.empty());
    // Once a member has had a forgotten peer's address, it is no longer remembered.
    bench.roster.forget(PeerId{300});
    bench.roster.forget(PeerId{301});
    seen.clear();
    for (int turn = 0; turn < 50; ++turn) seen.merge(dialled(bootstrap.redial(bench.step())));
    BOOST_TEST(seen == std::set{endpoint(300)});
}

BOOST_AUTO_TEST_CASE(before_it_has_joined_a_peer_dials_no_forgotten_addresses) {
    Bench bench(0);
    Bootstrap bootstrap(start);
    bootstrap.remember(endpoint(301));
    BOOST_TEST(bootstrap.redial(bench.step()).packets.empty());
}

BOOST_AUTO_TEST_CASE(comparisons_of_a_join_and_of_a_heal_are_paced) {
    Bench bench(1);
    Bootstrap bootstrap(start);
    BOOST_TEST(!bootstrap.take_heal_sync(bench.step()));
    BOOST_TEST(bootstrap.take_join_sync(bench.step()));
    BOOST_TEST(!bootstrap.take_join_sync(bench.step()));
    bench.now += bench.config.pull_timeout;
    BOOST_TEST(bootstrap.take_join_sync(bench.step()));
    bootstrap.complete_join(bench.step());
    bench.now += seconds{100};
    BOOST_TEST(!bootstrap.take_join_sync(bench.step()));
    BOOST_TEST(bootstrap.take_heal_sync(bench.step()));
    BOOST_TEST(!bootstrap.take_heal_sync(bench.step()));
    bench.now += bench.config.probe_interval;
    BOOST_TEST(bootstrap.take_heal_sync(bench.step()));
}

BOOST_AUTO_TEST_SUITE_END()
