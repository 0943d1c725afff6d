#include "membership/updates.h"

#include <boost/test/unit_test.hpp>

#include "parts.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using namespace exa::membership::samples;
using wire::Pull;

namespace {

LoadTable loads_of(std::uint64_t peer) {
    LoadTable loads;
    wire::LoadGroup group;
    group.peer = PeerId{peer};
    group.generation = Generation{1};
    group.number = 1;
    group.reports = {{{PeerId{peer}, DeploymentId{1}, 0}, 5, 0, 100, Duration{0}}};
    loads.apply(start, group, {});
    return loads;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(updates)

BOOST_AUTO_TEST_CASE(whoever_waits_for_an_answer_gets_one_and_nobody_else_an_empty_one) {
    const Roster peers = roster(2);
    BOOST_TEST(make_updates(start, peers, LoadTable(), {}).empty());
    const auto answer = make_updates(start, peers, LoadTable(), {.seq = 5});
    BOOST_TEST_REQUIRE(answer.size() == 1U);
    BOOST_TEST(answer[0].kind == wire::SyncKind::updates);
    BOOST_TEST(answer[0].seq == 5U);
    BOOST_TEST(!answer[0].more);
    BOOST_TEST(make_updates(start, peers, LoadTable(), {.pulls = {{PeerId{300}, {}, 0}}}).at(0).pulls.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_peer_comes_with_its_fact_and_with_its_record_only_when_that_is_newer) {
    const Roster peers = roster(2);
    const std::vector lacking{Pull{PeerId{101}, Generation{1}, 1}, Pull{PeerId{102}, {}, 0}, Pull{PeerId{300}, {}, 0}};
    const auto answer = make_updates(start, peers, LoadTable(), {.lacking = lacking});
    BOOST_TEST_REQUIRE(answer.size() == 1U);
    BOOST_TEST(answer[0].facts.size() == 2U);
    BOOST_TEST_REQUIRE(answer[0].records.size() == 1U);
    BOOST_TEST(answer[0].records[0].peer == PeerId{102});
}

BOOST_AUTO_TEST_CASE(loads_go_to_whoever_knows_nothing_of_the_peer_or_asks_for_all) {
    const Roster peers = roster(2);
    const LoadTable loads = loads_of(101);
    const std::vector known{Pull{PeerId{101}, Generation{1}, 1}};
    const std::vector unknown{Pull{PeerId{101}, {}, 0}};
    BOOST_TEST(make_updates(start, peers, loads, {.lacking = known}).at(0).loads.empty());
    BOOST_TEST(make_updates(start, peers, loads, {.lacking = unknown}).at(0).loads.size() == 1U);
    BOOST_TEST(make_updates(start, peers, loads, {.lacking = unknown, .with_loads = true}).at(0).loads.size() == 1U);
    BOOST_TEST(make_updates(start, peers, loads, {.seq = 1, .with_loads = true}).at(0).loads.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_long_answer_is_cut_into_messages_that_encode_and_all_but_the_last_say_more) {
    Roster peers(start, record(me.value), 1, 1000);
    std::vector<Pull> lacking;
    for (std::uint64_t id = 101; id < 301; ++id) {
        peers.apply(start, whole(record(id, 1, 100)));
        lacking.push_back({PeerId{id}, {}, 0});
    }
    const auto answer = make_updates(start, peers, LoadTable(), {.lacking = lacking, .seq = 3});
    BOOST_TEST_REQUIRE(answer.size() > 1U);
    std::size_t records = 0;
    for (std::size_t i = 0; i < answer.size(); ++i) {
        BOOST_TEST(answer[i].more == (i + 1 < answer.size()));
        BOOST_TEST(answer[i].seq == 3U);
        BOOST_TEST(answer[i].records.size() == answer[i].facts.size());
        records += answer[i].records.size();
    }
    BOOST_TEST(records == lacking.size());
}

BOOST_AUTO_TEST_CASE(peers_out_of_view_are_not_passed_on) {
    Bench bench(2);
    bench.set_liveness(101, Liveness::left);
    bench.roster.take_out_of_view(PeerId{101});
    const std::vector lacking{Pull{PeerId{101}, {}, 0}};
    BOOST_TEST(make_updates(start, bench.roster, LoadTable(), {.lacking = lacking}).at(0).facts.empty());
}

BOOST_AUTO_TEST_SUITE_END()
