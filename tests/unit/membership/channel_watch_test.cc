#include "membership/channel_watch.h"

#include <boost/test/unit_test.hpp>

#include "parts.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using namespace exa::membership::samples;
using std::chrono::seconds;

namespace {

const PeerId other{101};

std::vector<EventKind> kinds(const Effects& effects) {
    std::vector<EventKind> all;
    for (const Notice& notice : effects.notices) all.push_back(notice.kind);
    return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(channel_watch)

BOOST_AUTO_TEST_CASE(a_pair_without_datagrams_is_an_alarm_until_the_peer_itself_answers) {
    Bench bench(3);
    ChannelWatch watch;
    BOOST_TEST(watch.check(bench.step(), false).packets.empty());
    watch.note_indirect_answer(other);
    std::size_t told = 0;
    for (int round = 0; round < 20; ++round) {
        const Effects effects = watch.check(bench.step(), false);
        BOOST_TEST(effects.packets.size() == 1U);
        BOOST_TEST(effects.packets[0].at == endpoint(101));
        told += effects.notices.size();
    }
    BOOST_TEST(told == 1U);
    BOOST_REQUIRE(watch.broken().size() == 1U);
    BOOST_TEST((watch.broken()[0] == BrokenChannel{other, Channel::datagrams, start}));
    BOOST_TEST((kinds(watch.note_direct_answer(bench.step(), other)) == std::vector{EventKind::pair_udp_restored}));
    BOOST_TEST(watch.broken().empty());
    BOOST_TEST(watch.check(bench.step(), false).packets.empty());
}

BOOST_AUTO_TEST_CASE(a_lost_ping_or_two_are_no_alarm_nor_is_a_host_without_any_datagrams) {
    Bench bench(3);
    ChannelWatch watch;
    for (int loss = 0; loss < 10; ++loss) {
        watch.note_indirect_answer(other);
        for (int round = 0; round < 3; ++round) BOOST_TEST(watch.check(bench.step(), false).notices.empty());
        BOOST_TEST(watch.note_direct_answer(bench.step(), other).notices.empty());
    }
    watch.note_indirect_answer(other);
    for (int round = 0; round < 20; ++round) BOOST_TEST(watch.check(bench.step(), true).notices.empty());
}

BOOST_AUTO_TEST_CASE(a_link_that_breaks_again_after_a_refutation_is_blocked_and_no_suspicion) {
    Bench bench(3);
    ChannelWatch watch;
    Effects effects;
    BOOST_TEST(watch.note_link_broken(bench.step(), other, effects));
    bench.set_liveness(101, Liveness::suspect);
    bench.now += seconds{1};
    // Nothing new is known of it yet.
    BOOST_TEST(watch.note_link_broken(bench.step(), other, effects));
    bench.set_liveness(101, Liveness::alive, 1);
    bench.now += seconds{1};
    BOOST_TEST(!watch.note_link_broken(bench.step(), other, effects));
    BOOST_TEST((kinds(effects) == std::vector{EventKind::pair_link_blocked}));
    BOOST_TEST(watch.is_link_blocked(other));
    for (int again = 0; again < 5; ++again) BOOST_TEST(!watch.note_link_broken(bench.step(), other, effects));
    BOOST_TEST(effects.notices.size() == 1U);
    BOOST_TEST((kinds(watch.note_link_works(bench.step(), other)) == std::vector{EventKind::pair_link_restored}));
    BOOST_TEST(watch.note_link_broken(bench.step(), other, effects));
}

BOOST_AUTO_TEST_CASE(a_new_generation_of_a_peer_starts_afresh) {
    Bench bench(3);
    ChannelWatch watch;
    Effects effects;
    BOOST_TEST(watch.note_link_broken(bench.step(), other, effects));
    bench.now += seconds{1};
    bench.roster.apply(bench.now, whole(101, 2));
    bench.now += seconds{1};
    BOOST_TEST(watch.note_link_broken(bench.step(), other, effects));
    watch.forget(other);
    BOOST_TEST(watch.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_peer_that_cannot_open_links_to_us_says_so) {
    Bench bench(3);
    ChannelWatch watch;
    BOOST_TEST(watch.hear(bench.step(), other, false).notices.empty());
    BOOST_TEST((kinds(watch.hear(bench.step(), other, true)) == std::vector{EventKind::pair_link_blocked}));
    BOOST_TEST(watch.hear(bench.step(), other, true).notices.empty());
    BOOST_TEST((watch.broken().at(0) == BrokenChannel{other, Channel::link_from, start}));
    BOOST_TEST((kinds(watch.hear(bench.step(), other, false)) == std::vector{EventKind::pair_link_restored}));
}

BOOST_AUTO_TEST_CASE(what_is_watched_is_bounded_and_the_dead_are_not_watched) {
    Bench bench(200);
    ChannelWatch watch;
    Effects effects;
    for (std::uint64_t id = 101; id < 301; ++id) {
        watch.note_indirect_answer(PeerId{id});
        watch.note_link_broken(bench.step(), PeerId{id}, effects);
        watch.hear(bench.step(), PeerId{id}, true);
    }
    BOOST_TEST(watch.size() == 3 * ChannelWatch::watched_max);
    for (std::uint64_t id = 101; id < 301; ++id) bench.set_liveness(id, Liveness::dead);
    watch.check(bench.step(), false);
    BOOST_TEST(watch.size() == 2 * ChannelWatch::watched_max);
}

BOOST_AUTO_TEST_SUITE_END()
