#include "membership/name_claim.h"

#include <boost/test/unit_test.hpp>

#include "parts.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using namespace exa::membership::samples;

namespace {

struct Bearer {
    std::uint64_t id = 0;
    std::uint32_t claim = 0;
    std::uint16_t support = 0;
    wire::PeerState state = wire::PeerState::serving;
};

void add(Bench& bench, const Bearer& bearer) {
    wire::PeerRecord added = record(bearer.id);
    added.name = "one";
    added.name_claim = bearer.claim;
    added.name_support = bearer.support;
    added.state = bearer.state;
    bench.roster.apply(bench.now, whole(added));
}

PeerId yields(const Bearer& a, const Bearer& b) {
    Bench bench(0);
    add(bench, a);
    add(bench, b);
    const auto seen = NameClaim::check(bench.roster, PeerId{a.id});
    BOOST_TEST_REQUIRE(seen.has_value());
    BOOST_TEST(NameClaim::check(bench.roster, PeerId{b.id})->yields == seen->yields);
    BOOST_TEST(seen->holder == PeerId{seen->yields.value == a.id ? b.id : a.id});
    return seen->yields;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(name_claim)

BOOST_AUTO_TEST_CASE(the_lower_claim_yields_then_the_starting_one_then_less_support_then_the_higher_id) {
    using enum wire::PeerState;
    BOOST_TEST(yields({1, 0, 9}, {2, 1, 1}) == PeerId{1});
    BOOST_TEST(yields({1, 1, 9}, {2, 2, 1}) == PeerId{1});
    BOOST_TEST(yields({1, 0, 0, starting}, {2, 0, 0, serving}) == PeerId{1});
    BOOST_TEST(yields({1, 1, 3}, {2, 1, 200}) == PeerId{1});
    BOOST_TEST(yields({1, 1, 3}, {2, 1, 3}) == PeerId{2});
}

BOOST_AUTO_TEST_CASE(a_name_without_another_live_bearer_is_no_conflict) {
    Bench bench(1);
    BOOST_TEST(!NameClaim::check(bench.roster, PeerId{101}).has_value());
    add(bench, {1});
    add(bench, {2});
    bench.set_liveness(2, Liveness::dead);
    BOOST_TEST(!NameClaim::check(bench.roster, PeerId{1}).has_value());
}

BOOST_AUTO_TEST_CASE(a_new_claim_is_above_every_claim_that_was_heard_of) {
    Bench bench(1);
    BOOST_TEST(NameClaim::next(bench.roster) == 1U);
    wire::PeerRecord dead = record(300);
    dead.name = record(me.value).name;
    dead.name_claim = 7;
    bench.roster.apply(start, whole(dead), wire::MemberState::dead);
    BOOST_TEST(NameClaim::next(bench.roster) == 8U);
}

BOOST_AUTO_TEST_CASE(a_namesake_is_asked_once_each_probe_interval_and_a_newcomer_says_so_once) {
    Bench bench(1);
    NameClaim claim;
    const Effects first = claim.ask(bench.step(), PeerId{101});
    BOOST_TEST(first.notices == (std::vector{Notice{EventKind::waits_for_name, me, PeerId{101}}}));
    BOOST_TEST(first.packets.at(0).at == endpoint(101));
    BOOST_TEST(claim.ask(bench.step(), PeerId{101}).packets.empty());
    bench.now += bench.config.probe_interval;
    const Effects second = claim.ask(bench.step(), PeerId{101});
    BOOST_TEST(second.packets.size() == 1U);
    BOOST_TEST(second.notices.empty());
    BOOST_TEST(bench.timers.is_set({TimerKind::name}));
}

BOOST_AUTO_TEST_CASE(of_lost_bearers_of_a_name_the_one_of_the_highest_claim_is_kept) {
    Bench bench(0);
    add(bench, {1, 1});
    add(bench, {2, 3});
    add(bench, {3, 2});
    add(bench, {4, 9});
    bench.set_liveness(1, Liveness::lost);
    bench.set_liveness(2, Liveness::lost);
    bench.set_liveness(3, Liveness::dead);
    BOOST_TEST(NameClaim::spare_ghosts(bench.roster, PeerId{1}) == std::vector{PeerId{1}});
    wire::PeerRecord unknown = record(5);
    unknown.name = "one";
    unknown.name_claim = 2;
    BOOST_TEST(NameClaim::is_spare_ghost(bench.roster, PeerId{5}, wire::profile_of(unknown)));
    unknown.name_claim = 4;
    BOOST_TEST(!NameClaim::is_spare_ghost(bench.roster, PeerId{5}, wire::profile_of(unknown)));
}

BOOST_AUTO_TEST_SUITE_END()
