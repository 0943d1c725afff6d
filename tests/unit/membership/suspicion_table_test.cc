#include "membership/suspicion_table.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "base/hash.h"
#include "parts.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using namespace exa::membership::samples;
using std::chrono::milliseconds;
using Due = SuspicionTable::Due;

namespace {

const std::string rack = "r1";

// Peers 201 .. 200 + count stand in one rack.
Bench with_rack(std::size_t count) {
    Bench bench(4);
    for (std::uint64_t id = 201; id < 201 + count; ++id) bench.add(id, rack);
    return bench;
}

void suspect(SuspicionTable& table, Bench& bench, std::uint64_t peer, PeerId accuser = PeerId{101}) {
    bench.set_liveness(peer, Liveness::suspect);
    table.start(bench.step(), PeerId{peer}, accuser);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(suspicion_table)

BOOST_AUTO_TEST_CASE(a_suspect_is_asked_once_more_before_the_verdict) {
    Bench bench(6);
    SuspicionTable table(start);
    suspect(table, bench, 101, me);
    BOOST_TEST(table.due(PeerId{101}) == Due::last_check);
    BOOST_TEST(bench.timers.next() == start + bench.config.suspicion_max - bench.config.probe_timeout);
    bench.now = bench.timers.next();
    const Effects asked = table.check_again(bench.step(), PeerId{101});
    BOOST_REQUIRE(!asked.packets.empty());
    BOOST_TEST(asked.packets[0].packet.kind == wire::PacketKind::ping);
    BOOST_TEST(asked.packets[0].at == endpoint(101));
    for (std::size_t i = 1; i < asked.packets.size(); ++i) {
        BOOST_TEST(asked.packets[i].to != PeerId{101});
        BOOST_TEST(asked.packets[i].packet.facts == std::vector{bench.roster.fact(PeerId{101})});
    }
    BOOST_TEST(table.due(PeerId{101}) == Due::verdict);
    BOOST_TEST(bench.timers.next() == start + bench.config.suspicion_max);
}

BOOST_AUTO_TEST_CASE(new_accusers_shorten_a_suspicion_and_the_same_one_does_not) {
    Bench bench(6);
    SuspicionTable table(start);
    suspect(table, bench, 101, me);
    const TimePoint alone = bench.timers.next();
    BOOST_TEST(!table.confirm(bench.step(), PeerId{101}, me));
    BOOST_TEST(bench.timers.next() == alone);
    for (std::uint64_t accuser = 102; accuser <= 104; ++accuser)
        BOOST_TEST(table.confirm(bench.step(), PeerId{101}, PeerId{accuser}));
    BOOST_TEST(bench.timers.next() == start + bench.config.suspicion_min - bench.config.probe_timeout);
    BOOST_TEST(!table.confirm(bench.step(), PeerId{101}, PeerId{105}));
}

BOOST_AUTO_TEST_CASE(a_suspicion_that_ended_is_due_for_nothing) {
    Bench bench(2);
    SuspicionTable table(start);
    BOOST_TEST(table.due(PeerId{101}) == Due::nothing);
    suspect(table, bench, 101);
    table.end(PeerId{101});
    BOOST_TEST(table.due(PeerId{101}) == Due::nothing);
}

BOOST_AUTO_TEST_CASE(deaths_are_deferred_only_in_a_rack_with_enough_suspects) {
    Bench bench = with_rack(3);
    SuspicionTable table(start);
    suspect(table, bench, 201);
    suspect(table, bench, 202);
    BOOST_TEST(!table.is_deferrable(bench.step(), PeerId{201}));
    BOOST_TEST(table.is_deferrable(bench.step(), PeerId{203}));
    suspect(table, bench, 203);
    BOOST_TEST(table.is_deferrable(bench.step(), PeerId{201}));
    bench.config.rack_verdict_wait = Duration{0};
    BOOST_TEST(!table.is_deferrable(bench.step(), PeerId{201}));
}

BOOST_AUTO_TEST_CASE(peers_without_a_rack_do_not_wait_for_each_other) {
    Bench bench(4);
    SuspicionTable table(start);
    for (std::uint64_t id = 101; id <= 104; ++id) suspect(table, bench, id);
    BOOST_TEST(!table.is_deferrable(bench.step(), PeerId{101}));
}

BOOST_AUTO_TEST_CASE(the_deferred_deaths_of_a_rack_are_decided_together_with_its_last_suspect) {
    Bench bench = with_rack(3);
    SuspicionTable table(start);
    for (std::uint64_t id = 201; id <= 203; ++id) suspect(table, bench, id);
    table.defer(bench.step(), PeerId{201});
    table.defer(bench.step(), PeerId{202});
    BOOST_TEST(!bench.timers.is_set({TimerKind::suspicion, 201}));
    BOOST_TEST(!table.confirm(bench.step(), PeerId{201}, PeerId{104}));
    BOOST_TEST(table.take_decided(bench.step(), rack).empty());
    // The third refutes: what is left is decided.
    bench.set_liveness(203, Liveness::alive, 1);
    table.end(PeerId{203});
    BOOST_TEST(table.take_decided(bench.step(), rack) == (std::vector{PeerId{201}, PeerId{202}}));
    BOOST_TEST(!bench.timers.is_set({TimerKind::rack, hash64(as_bytes(rack))}));
}

BOOST_AUTO_TEST_CASE(a_rack_that_is_never_decided_is_overdue_after_its_wait) {
    Bench bench = with_rack(3);
    SuspicionTable table(start);
    for (std::uint64_t id = 201; id <= 203; ++id) suspect(table, bench, id);
    table.defer(bench.step(), PeerId{202});
    const TimerKey timer{TimerKind::rack, hash64(as_bytes(rack))};
    BOOST_TEST(bench.timers.is_set(timer));
    BOOST_TEST(table.take_overdue(bench.step(), timer.of + 1).empty());
    BOOST_TEST(table.take_overdue(bench.step(), timer.of) == std::vector{PeerId{202}});
    BOOST_TEST(!bench.timers.is_set(timer));
}

BOOST_AUTO_TEST_CASE(a_later_suspicion_of_a_deferred_peer_is_open_again) {
    Bench bench = with_rack(3);
    SuspicionTable table(start);
    for (std::uint64_t id = 201; id <= 203; ++id) suspect(table, bench, id);
    table.defer(bench.step(), PeerId{201});
    bench.set_liveness(201, Liveness::suspect, 1);
    table.start(bench.step(), PeerId{201}, me);
    BOOST_TEST(!table.is_deferred(PeerId{201}));
    BOOST_TEST(table.due(PeerId{201}) == Due::last_check);
}

BOOST_AUTO_TEST_CASE(the_third_suspect_of_a_rack_has_its_live_peers_probed_and_the_fourth_does_not) {
    Bench bench = with_rack(8);
    bench.config.out_of_turn_probers = 16;
    SuspicionTable table(start);
    suspect(table, bench, 201);
    suspect(table, bench, 202);
    BOOST_TEST(table.rack_probes(bench.step(), rack).empty());
    suspect(table, bench, 203);
    const std::vector<PeerId> chosen = table.rack_probes(bench.step(), rack);
    BOOST_TEST(std::set(chosen.begin(), chosen.end()) ==
               (std::set{PeerId{204}, PeerId{205}, PeerId{206}, PeerId{207}, PeerId{208}}));
    suspect(table, bench, 204);
    BOOST_TEST(table.rack_probes(bench.step(), rack).empty());
}

BOOST_AUTO_TEST_CASE(a_late_process_asks_again_and_puts_each_verdict_off_once) {
    Bench bench(4);
    SuspicionTable table(start);
    suspect(table, bench, 101);
    bench.now += bench.config.suspicion_max - bench.config.probe_timeout;
    table.check_again(bench.step(), PeerId{101});
    // Long after its end: the answer may wait unread.
    bench.now += bench.config.suspicion_max;
    const Effects again = table.postpone(bench.step());
    BOOST_TEST(!again.packets.empty());
    BOOST_TEST(bench.timers.next() == bench.now + bench.config.probe_timeout);
    bench.now += bench.config.probe_timeout;
    BOOST_TEST(table.postpone(bench.step()).packets.empty());
    BOOST_TEST(table.due(PeerId{101}) == Due::verdict);
}

BOOST_AUTO_TEST_CASE(a_late_process_puts_off_what_was_due_for_racks_and_for_the_lost) {
    Bench bench(1);
    SuspicionTable table(start);
    bench.timers.set({TimerKind::lost, 101}, start + milliseconds{10});
    bench.now = start + milliseconds{1000};
    table.postpone(bench.step());
    BOOST_TEST(bench.timers.next() == bench.now + bench.config.probe_timeout);
}

BOOST_AUTO_TEST_SUITE_END()
