#include "membership/anti_entropy.h"

#include <boost/test/unit_test.hpp>

#include "parts.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using namespace exa::membership::samples;
using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::SyncKind;

namespace {

// The wait that schedule() sets.
Duration wait_of(AntiEntropy& anti_entropy, Bench& bench) {
    anti_entropy.schedule(bench.step());
    return bench.timers.next() - bench.now;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(anti_entropy)

BOOST_AUTO_TEST_CASE(waits_grow_from_a_short_one_to_the_interval_and_are_spread) {
    Bench bench(3);
    AntiEntropy anti_entropy(start, bench.config);
    anti_entropy.reset_wait(bench.step());
    BOOST_TEST(bench.timers.next() - start < bench.config.probe_interval / 2);
    BOOST_TEST(!anti_entropy.is_wait_long(bench.config));
    Duration longest{0};
    for (int turn = 0; turn < 20; ++turn) longest = std::max(longest, wait_of(anti_entropy, bench));
    BOOST_TEST(anti_entropy.is_wait_long(bench.config));
    BOOST_TEST(longest > bench.config.sync_interval);
    BOOST_TEST(longest <= bench.config.sync_interval * 11 / 10);
}

BOOST_AUTO_TEST_CASE(many_peers_stretch_the_interval_by_the_logarithm_of_their_number) {
    Bench bench(255);
    AntiEntropy anti_entropy(start, bench.config);
    Duration last{0};
    for (int turn = 0; turn < 20; ++turn) last = wait_of(anti_entropy, bench);
    BOOST_TEST(last >= bench.config.sync_interval * 36 / 10);
    BOOST_TEST(last <= bench.config.sync_interval * 44 / 10);
}

BOOST_AUTO_TEST_CASE(alone_there_is_nobody_to_compare_with) {
    Bench alone(0);
    BOOST_TEST(!AntiEntropy::pick(alone.step()).has_value());
    Bench two(1);
    BOOST_TEST(AntiEntropy::pick(two.step()) == PeerId{101});
}

BOOST_AUTO_TEST_CASE(rosters_that_go_on_differing_are_compared_more_and_more_rarely) {
    Bench bench(3);
    AntiEntropy anti_entropy(start, bench.config);
    std::vector<TimePoint> compared;
    for (; bench.now < start + seconds{60}; bench.now += milliseconds{100})
        if (anti_entropy.check_roster(bench.step(), 1, 2, true).sync_now) compared.push_back(bench.now);
    BOOST_TEST_REQUIRE(compared.size() >= 4U);
    BOOST_TEST(compared[0] - start >= 5 * bench.config.gossip_interval);
    for (std::size_t i = 2; i < compared.size(); ++i)
        BOOST_TEST(compared[i] - compared[i - 1] >= compared[i - 1] - compared[i - 2]);
    BOOST_TEST(compared.back() - compared[compared.size() - 2] <= bench.config.sync_interval + milliseconds{100});
}

BOOST_AUTO_TEST_CASE(a_roster_that_just_changed_is_not_compared_yet) {
    Bench bench(3);
    AntiEntropy anti_entropy(start, bench.config);
    for (std::uint32_t ours = 2; ours < 50; ++ours, bench.now += bench.config.gossip_interval)
        BOOST_TEST(!anti_entropy.check_roster(bench.step(), 1, ours, true).sync_now);
}

BOOST_AUTO_TEST_CASE(equal_rosters_an_unknown_one_and_a_peer_that_is_no_member_start_nothing) {
    Bench bench(3);
    AntiEntropy anti_entropy(start, bench.config);
    for (int turn = 0; turn < 100; ++turn, bench.now += milliseconds{100}) {
        const auto same = anti_entropy.check_roster(bench.step(), 2, 2, true);
        BOOST_TEST(same.same);
        BOOST_TEST(!same.sync_now);
        BOOST_TEST(!anti_entropy.check_roster(bench.step(), 0, 2, true).sync_now);
        BOOST_TEST(!anti_entropy.check_roster(bench.step(), 1, 2, false).sync_now);
    }
    BOOST_TEST(anti_entropy.check_roster(bench.step(), 1, 2, true).sync_now);
}

BOOST_AUTO_TEST_CASE(few_peers_and_newcomers_send_a_digest_of_everybody_and_many_a_summary) {
    Bench few(10);
    AntiEntropy anti_entropy(start, few.config);
    BOOST_TEST(anti_entropy.digest_seq() == 0U);
    std::vector<SyncOut> out = anti_entropy.open(few.step(), PeerId{101}, {true, 9}, false);
    BOOST_TEST_REQUIRE(out.size() == 1U);
    BOOST_TEST(out[0].sync.kind == SyncKind::digest);
    BOOST_TEST(out[0].sync.digest.size() == 11U);
    BOOST_TEST(out[0].sync.want_loads);
    BOOST_TEST(out[0].sync.keys_hash == 9U);
    BOOST_TEST(out[0].sync.seq == anti_entropy.digest_seq());

    Bench many(100);
    out = anti_entropy.open(many.step(), PeerId{101}, {}, true);
    BOOST_TEST(out.at(0).sync.kind == SyncKind::digest);
    out = anti_entropy.open(many.step(), PeerId{101}, {}, false);
    BOOST_TEST_REQUIRE(out.size() == 1U);
    BOOST_TEST(out[0].sync.kind == SyncKind::summary);
    BOOST_TEST(out[0].sync.summary.size() == wire::summary_parts);
}

BOOST_AUTO_TEST_CASE(a_long_digest_is_cut_into_ranges_that_leave_no_id_out) {
    Bench bench(0);
    bench.roster = Roster(start, record(me.value), 1, 8000);
    for (std::uint64_t id = 101; id < 101 + 2500; ++id) bench.roster.apply(start, whole(id));
    AntiEntropy anti_entropy(start, bench.config);
    const std::vector<SyncOut> out = anti_entropy.open(bench.step(), PeerId{101}, {true, 9}, true);
    BOOST_TEST_REQUIRE(out.size() == 3U);
    std::uint64_t next = 0;
    std::size_t entries = 0;
    for (const SyncOut& each : out) {
        BOOST_TEST(each.sync.first.value == next);
        next = each.sync.last.value + 1;
        entries += each.sync.digest.size();
        BOOST_TEST(each.sync.want_loads == (each.sync.first == PeerId{0}));
    }
    BOOST_TEST(next == 0U);
    BOOST_TEST(entries == 2501U);
}

BOOST_AUTO_TEST_CASE(a_summary_is_answered_with_digests_of_the_parts_that_differ) {
    Bench bench(3);
    bench.roster.apply(start, whole(std::uint64_t{5} << 58));
    AntiEntropy anti_entropy(start, bench.config);
    wire::Sync summary;
    summary.header.sender = PeerId{101};
    summary.summary.assign(bench.roster.summary().begin(), bench.roster.summary().end());
    BOOST_TEST(anti_entropy.answer_summary(bench.step(), summary, 0).empty());
    ++summary.summary[5];
    const std::vector<SyncOut> out = anti_entropy.answer_summary(bench.step(), summary, 0);
    BOOST_TEST_REQUIRE(out.size() == 1U);
    BOOST_TEST(std::pair(out[0].sync.first, out[0].sync.last) == Roster::ids_of_part(5));
    BOOST_TEST(out[0].sync.digest.size() == 1U);
}

BOOST_AUTO_TEST_CASE(old_memories_are_not_shared) {
    Bench bench(3);
    bench.set_liveness(101, Liveness::left);
    bench.roster.take_out_of_view(PeerId{101});
    BOOST_TEST(!is_shared(bench.step(), *bench.roster.find(PeerId{101})));
    bench.set_liveness(102, Liveness::lost);
    BOOST_TEST(is_shared(bench.step(), *bench.roster.find(PeerId{102})));
    bench.now += bench.config.lost_retention / 2;
    BOOST_TEST(!is_shared(bench.step(), *bench.roster.find(PeerId{102})));
}

BOOST_AUTO_TEST_SUITE_END()
