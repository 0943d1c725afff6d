#include "membership/bootstrap.h"

#include <boost/test/unit_test.hpp>
#include <set>
#include <string>

#include "parts.h"
#include "support/join.h"
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
        const Effects effects = bootstrap.join(bench.step(), through(seeds));
        BOOST_TEST(effects.notices == (std::vector{Notice{EventKind::joined_cluster, me}}));
        BOOST_TEST(bootstrap.is_joined());
        BOOST_TEST(!bench.timers.is_set({TimerKind::seeds}));
    }
}

BOOST_AUTO_TEST_CASE(silent_seeds_are_dialled_again_with_growing_waits_up_to_the_longest) {
    Bench bench(0);
    Bootstrap bootstrap(start);
    BOOST_TEST(bootstrap.join(bench.step(), through({endpoint(101), endpoint(102)})).packets.empty());
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
    BOOST_TEST(dialled(bootstrap.join(bench.step(), through({endpoint(101)}))) == std::set{endpoint(101)});
    BOOST_TEST(!bench.timers.is_set({TimerKind::seeds}));
}

BOOST_AUTO_TEST_CASE(a_completed_join_ends_the_dialling) {
    Bench bench(0);
    Bootstrap bootstrap(start);
    bootstrap.join(bench.step(), through({endpoint(101)}));
    BOOST_TEST(bootstrap.complete_join(bench.step()).notices.at(0).kind == EventKind::joined_cluster);
    BOOST_TEST(bootstrap.is_joined());
    BOOST_TEST(!bench.timers.is_set({TimerKind::seeds}));
}

BOOST_AUTO_TEST_CASE(a_seed_that_turns_out_to_be_ourselves_is_dropped_and_the_last_one_makes_us_the_first) {
    Bench bench(0);
    Bootstrap bootstrap(start);
    bootstrap.join(bench.step(), through({endpoint(101), endpoint(102)}));
    BOOST_TEST(bootstrap.drop_own_address(bench.step(), endpoint(300)).notices.empty());
    BOOST_TEST(bootstrap.drop_own_address(bench.step(), endpoint(101)).notices.empty());
    BOOST_TEST(!bootstrap.is_joined());
    BOOST_TEST(bootstrap.drop_own_address(bench.step(), endpoint(102)).notices.size() == 1U);
    BOOST_TEST(bootstrap.is_joined());
}

BOOST_AUTO_TEST_CASE(dead_peers_are_dialled_for_good_and_live_ones_are_not) {
    Bench bench(3);
    Bootstrap bootstrap(start);
    bootstrap.join(bench.step(), through({endpoint(101)}));
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
    bootstrap.join(bench.step(), through({endpoint(300)}));
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

BOOST_AUTO_TEST_CASE(members_of_before_are_dialled_until_one_of_them_is_met) {
    Bench bench(0);
    Bootstrap bootstrap(start);
    JoinRequest request;
    for (std::uint64_t id = 301; id <= 306; ++id) request.members.push_back({PeerId{id}, endpoint(id), "m"});
    BOOST_TEST(bootstrap.join(bench.step(), request).notices.empty());
    BOOST_TEST(!bootstrap.is_joined());
    std::set<Endpoint> seen;
    for (int turn = 0; turn < 2; ++turn) {
        bench.now = bench.timers.next();
        seen.merge(dialled(bootstrap.dial_seeds(bench.step())));
    }
    BOOST_TEST(seen.size() == 6U);
}

BOOST_AUTO_TEST_CASE(the_first_peer_founds_a_cluster_unless_it_remembers_members) {
    for (const bool remembers : {false, true}) {
        Bench bench(0);
        Bootstrap bootstrap(start);
        JoinRequest request = through({endpoint(101)});
        request.first = true;
        if (remembers) request.members.push_back({PeerId{301}, endpoint(301), "m"});
        BOOST_TEST(bootstrap.join(bench.step(), request).notices.size() == (remembers ? 0U : 1U));
        BOOST_TEST(bootstrap.is_joined() == !remembers);
    }
}

BOOST_AUTO_TEST_CASE(a_name_that_gives_nothing_or_ourselves_alone_is_looked_up_again) {
    Bench bench(0);
    Bootstrap bootstrap(start);
    const std::string name = "peers.test:7946";
    bootstrap.join(bench.step(), {.seeds = {name}});
    BOOST_TEST(bootstrap.poll_lookup().value() == name);
    for (const std::vector<Endpoint>& found : {std::vector<Endpoint>{}, std::vector{endpoint(me.value)}}) {
        BOOST_TEST(bootstrap.handle_lookup(bench.step(), name, found).notices.empty());
        BOOST_TEST(!bootstrap.is_joined());
        BOOST_TEST(!bootstrap.poll_lookup().has_value());
        bench.now += seconds{2};
        bootstrap.look_up(bench.step());
        BOOST_TEST(bootstrap.poll_lookup().value() == name);
        // Until it is answered nothing is asked again.
        bench.now += seconds{2};
        bootstrap.look_up(bench.step());
        BOOST_TEST(!bootstrap.poll_lookup().has_value());
    }
    BOOST_TEST(dialled(bootstrap.handle_lookup(bench.step(), name, {endpoint(me.value), endpoint(101)})) ==
               std::set{endpoint(101)});
}

BOOST_AUTO_TEST_CASE(a_failed_lookup_keeps_the_addresses_of_before) {
    Bench bench(0);
    Bootstrap bootstrap(start);
    bootstrap.join(bench.step(), {.seeds = {"a:1"}});
    bootstrap.handle_lookup(bench.step(), "a:1", {endpoint(101)});
    bootstrap.handle_lookup(bench.step(), "a:1", {});
    BOOST_TEST(dialled(bootstrap.dial_seeds(bench.step())) == std::set{endpoint(101)});
    BOOST_TEST(bootstrap.handle_lookup(bench.step(), "never asked:1", {endpoint(102)}).packets.empty());
}

BOOST_AUTO_TEST_CASE(a_peer_that_nobody_answers_is_alone_until_it_meets_somebody) {
    Bench bench(0);
    Bootstrap bootstrap(start);
    bootstrap.join(bench.step(), through({endpoint(101)}));
    std::size_t told = 0;
    for (int turn = 0; turn < 10; ++turn) {
        bench.now = bench.timers.next();
        told += bootstrap.dial_seeds(bench.step()).notices.size();
        BOOST_TEST(bootstrap.is_alone() == (bench.now - start >= Bootstrap::alone_after));
    }
    BOOST_TEST(told == 1U);
    bench.roster.apply(bench.now, whole(101));
    bootstrap.redial(bench.step());
    BOOST_TEST(!bootstrap.is_alone());
}

BOOST_AUTO_TEST_CASE(a_seed_that_is_silent_for_minutes_is_told_by_its_name) {
    using State = SeedStatus::State;
    Bench bench(1);
    Bootstrap bootstrap(start);
    bootstrap.join(bench.step(), {.seeds = {to_string(endpoint(101)), to_string(endpoint(300)), "gone:1"}});
    bootstrap.complete_join(bench.step());
    bootstrap.handle_lookup(bench.step(), "gone:1", {});
    std::size_t told = 0;
    for (; bench.now - start < Bootstrap::silent_after; bench.now += bench.config.redial_interval) {
        told += bootstrap.redial(bench.step()).notices.size();
        BOOST_TEST(!bootstrap.has_silent_seed());
    }
    BOOST_TEST(bootstrap.redial(bench.step()).notices.size() == 1U);
    BOOST_TEST(told == 0U);
    const auto seeds = bootstrap.seeds(bench.now, bench.roster);
    BOOST_TEST((seeds.at(0).state == State::answering && seeds[0].heard == bench.now));
    BOOST_TEST((seeds.at(1).state == State::silent && seeds[1].heard == start));
    BOOST_TEST((seeds.at(2).state == State::unresolved));
    bootstrap.hear(bench.now, endpoint(300));
    BOOST_TEST((bootstrap.seeds(bench.now, bench.roster).at(1).state == State::answering));
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
