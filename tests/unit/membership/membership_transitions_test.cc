// What Membership does about many losses at once, about losses it may be wrong about, and about long ones.
#include <boost/test/unit_test.hpp>
#include <utility>

#include "driver.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using samples::Driver;
using samples::fact;
using samples::Sent;
using samples::SentSync;
using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::MemberState;

namespace {

// `others` peers from 101 on; the first `in_rack` of them stand in one rack.
Driver with_rack(std::size_t others, std::size_t in_rack, Config config = {}) {
    Driver driver(config);
    driver.core.join(driver.now, {});
    wire::Sync sync;
    sync.kind = wire::SyncKind::updates;
    for (std::uint64_t id = 101; id < 101 + others; ++id) {
        sync.header = Driver::header(id);
        sync.records = {samples::whole(id)};
        if (id < 101 + in_rack) sync.records[0].profile->rack = "r";
        driver.give(sync).value();
    }
    driver.run_for(seconds{3}, true);
    driver.sent.clear();
    driver.events.clear();
    return driver;
}

std::vector<wire::Fact> facts(std::uint64_t first, std::uint64_t last, MemberState state) {
    std::vector<wire::Fact> all;
    for (std::uint64_t id = first; id <= last; ++id) all.push_back(fact(id, state, 0, 130));
    return all;
}

std::size_t told_to(const Driver& driver, std::uint64_t peer, const wire::Fact& wanted) {
    return static_cast<std::size_t>(std::ranges::count_if(driver.sent, [&](const Sent& item) {
        return item.to == samples::endpoint(peer) &&
               std::ranges::find(item.packet.facts, wanted) != item.packet.facts.end();
    }));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(membership_loss)

BOOST_AUTO_TEST_CASE(suspects_of_one_rack_die_together_when_the_last_verdict_is_in) {
    Driver driver = with_rack(30, 5);
    driver.give(130, facts(101, 105, MemberState::suspect)).value();
    driver.give(130, facts(101, 104, MemberState::dead)).value();
    for (std::uint64_t id = 101; id <= 105; ++id) BOOST_TEST(driver.liveness(id) == Liveness::suspect);
    driver.give(130, facts(105, 105, MemberState::dead)).value();
    for (std::uint64_t id = 101; id <= 105; ++id) BOOST_TEST(driver.liveness(id) == Liveness::dead);
    BOOST_TEST(driver.told(EventKind::rack_down, PeerId{101}) == 1U);
}

BOOST_AUTO_TEST_CASE(a_rack_waits_for_its_last_verdict_only_so_long) {
    Config config;
    config.out_of_turn_probers = 0;
    config.suspicion_max = seconds{9};
    config.dead_after_max = seconds{60};
    Driver driver = with_rack(30, 5, config);
    driver.give(130, facts(101, 105, MemberState::suspect)).value();
    driver.give(130, facts(101, 104, MemberState::dead)).value();
    driver.run_for(config.rack_verdict_wait - milliseconds{1}, true);
    BOOST_TEST(driver.liveness(101) == Liveness::suspect);
    driver.run_for(milliseconds{1}, true);
    for (std::uint64_t id = 101; id <= 104; ++id) BOOST_TEST(driver.liveness(id) == Liveness::dead);
    BOOST_TEST(driver.liveness(105) != Liveness::dead);
}

BOOST_AUTO_TEST_CASE(a_refutation_in_a_rack_of_deferred_deaths_decides_the_others) {
    Driver driver = with_rack(30, 4);
    driver.give(130, facts(101, 104, MemberState::suspect)).value();
    driver.give(130, facts(101, 103, MemberState::dead)).value();
    driver.give(130, {fact(102, MemberState::alive, 1)}).value();
    driver.give(130, {fact(104, MemberState::alive, 1)}).value();
    BOOST_TEST(driver.liveness(101) == Liveness::dead);
    BOOST_TEST(driver.liveness(102) == Liveness::alive);
    BOOST_TEST(driver.liveness(103) == Liveness::dead);
    BOOST_TEST(driver.liveness(104) == Liveness::alive);
}

BOOST_AUTO_TEST_CASE(two_of_a_rack_or_many_without_a_rack_wait_for_nobody) {
    Driver driver = with_rack(30, 2);
    driver.give(130, facts(101, 110, MemberState::suspect)).value();
    driver.give(130, {fact(101, MemberState::dead, 0, 130), fact(105, MemberState::dead, 0, 130)}).value();
    BOOST_TEST(driver.liveness(101) == Liveness::dead);
    BOOST_TEST(driver.liveness(105) == Liveness::dead);
    BOOST_TEST(driver.liveness(106) == Liveness::suspect);
}

BOOST_AUTO_TEST_CASE(an_accusation_that_was_refuted_is_answered_with_the_refutation) {
    Driver driver;
    driver.gather(9);
    driver.give(102, {fact(101, MemberState::alive, 3)}).value();
    driver.run_for(seconds{3}, true);
    driver.sent.clear();
    driver.give(105, {fact(101, MemberState::suspect, 2, 106)}).value();
    BOOST_TEST(told_to(driver, 105, fact(101, MemberState::alive, 3)) == 1U);
    BOOST_TEST(driver.sent.size() == 1U);
    driver.give(105, {fact(101, MemberState::dead, 1, 106)}).value();
    BOOST_TEST(told_to(driver, 105, fact(101, MemberState::alive, 3)) == 2U);
    // What is true, or no accusation, needs no answer.
    driver.give(105, {fact(101, MemberState::alive, 2)}).value();
    BOOST_TEST(driver.sent.size() == 2U);
}

BOOST_AUTO_TEST_CASE(before_a_suspect_dies_it_and_others_are_asked_once_more) {
    Config config;
    config.out_of_turn_probers = 0;
    config.dead_after_max = seconds{20};
    Driver driver(config);
    driver.gather(40);
    driver.give(102, {fact(101, MemberState::suspect, 0, 103)}).value();
    driver.run_for(config.suspicion_max - config.probe_timeout - milliseconds{50}, true);
    driver.sent.clear();
    driver.run_for(milliseconds{100}, true);
    const auto pings = driver.sent_of(wire::PacketKind::ping);
    const auto is_to_suspect = [](const Sent& item) { return item.packet.target == PeerId{101}; };
    BOOST_TEST(std::ranges::any_of(pings, is_to_suspect));
    const wire::Fact doubt = fact(101, MemberState::suspect, 0, 103);
    BOOST_TEST(std::ranges::any_of(driver.sent_of(wire::PacketKind::gossip), [&](const Sent& item) {
        return item.to != samples::endpoint(101) &&
               std::ranges::find(item.packet.facts, doubt) != item.packet.facts.end();
    }));
    // The suspect's own answer had its incarnation at 0 and refuted nothing: an answer with a newer one does.
    driver.give(104, {fact(101, MemberState::alive, 1)}).value();
    driver.run_for(seconds{2}, true);
    BOOST_TEST(driver.liveness(101) == Liveness::alive);
}

BOOST_AUTO_TEST_CASE(more_than_a_third_dead_at_once_is_held_until_some_are_back) {
    Driver driver;
    driver.gather(9);
    for (std::uint64_t id = 101; id <= 104; ++id) driver.give(109, {fact(id, MemberState::dead, 0, 109)}).value();
    driver.run_for(seconds{100}, true);
    BOOST_TEST(driver.liveness(101) == Liveness::dead);
    BOOST_TEST(driver.core.view()->alarms.losses_held);
    BOOST_TEST(driver.told(EventKind::losses_held, samples::me) == 1U);
    driver.give(109, {fact(104, MemberState::alive, 1)}).value();
    driver.run_for(seconds{6}, true);
    BOOST_TEST(driver.liveness(101) == Liveness::lost);
    BOOST_TEST(!driver.core.view()->alarms.losses_held);
    BOOST_TEST(driver.told(EventKind::losses_released, samples::me) == 1U);
}

BOOST_AUTO_TEST_CASE(a_replaced_peer_is_lost_in_its_time_and_holds_up_nobody) {
    // On the machine of 101 a peer starts with a new disk: 101 does not come back.
    const auto replace = [](Driver& driver) {
        wire::PeerRecord successor = samples::record(201);
        successor.name = samples::record(101).name;
        wire::Packet first;
        first.header = Driver::header(201);
        first.records = {samples::whole(successor)};
        driver.give(first).value();
    };
    Driver few;
    few.gather(3);
    for (std::uint64_t id = 101; id <= 102; ++id) few.give(103, {fact(id, MemberState::dead, 0, 103)}).value();
    few.run_for(seconds{40}, true);
    BOOST_TEST(few.liveness(101) == Liveness::dead);
    replace(few);
    few.run_for(seconds{6}, true);
    BOOST_TEST(few.liveness(101) == Liveness::lost);
    BOOST_TEST(few.liveness(102) == Liveness::lost);
    BOOST_TEST(!few.core.view()->alarms.losses_held);
    // It says nothing of the others when these are still too many.
    Driver many;
    many.gather(3);
    for (std::uint64_t id = 101; id <= 103; ++id) many.give(103, {fact(id, MemberState::dead, 0, 103)}).value();
    replace(many);
    many.run_for(seconds{40}, true);
    BOOST_TEST(many.liveness(101) == Liveness::lost);
    BOOST_TEST(many.liveness(102) == Liveness::dead);
    BOOST_TEST(many.core.view()->alarms.losses_held);
}

BOOST_AUTO_TEST_CASE(an_operator_releases_the_losses_that_are_held) {
    Driver driver;
    driver.gather(3);
    driver.core.confirm_dead();
    for (std::uint64_t id = 101; id <= 102; ++id) driver.give(103, {fact(id, MemberState::dead, 0, 103)}).value();
    driver.run_for(seconds{60}, true);
    BOOST_TEST(driver.liveness(101) == Liveness::dead);
    driver.core.confirm_dead();
    driver.run_for(seconds{6}, true);
    BOOST_TEST(driver.liveness(101) == Liveness::lost);
    BOOST_TEST(driver.liveness(102) == Liveness::lost);
}

BOOST_AUTO_TEST_CASE(the_address_of_a_forgotten_peer_is_still_dialled_until_a_member_has_it) {
    Config config;
    config.lost_retention = seconds{60};
    Driver driver(config);
    driver.gather(3);
    driver.give(102, {fact(101, MemberState::dead, 0, 102)}).value();
    driver.run_for(seconds{120}, true);
    BOOST_TEST_REQUIRE(driver.core.roster().find(PeerId{101}) == nullptr);
    const auto dialled = [&] {
        driver.sent.clear();
        driver.run_for(seconds{20}, true);
        return std::ranges::count_if(driver.sent, [](const Sent& item) {
            return item.to == samples::endpoint(101) && item.packet.kind == wire::PacketKind::ping;
        });
    };
    BOOST_TEST(dialled() >= 3);
    wire::Packet back;
    back.header = Driver::header(101, 2);
    back.records = {samples::whole(101, 2)};
    driver.give(back).value();
    driver.run_for(seconds{6}, true);
    driver.give(103, {fact(101, MemberState::left, 0, 0, 2)}).value();
    BOOST_TEST(dialled() == 0);
}

BOOST_AUTO_TEST_CASE(probes_that_only_links_answer_are_an_alarm_and_one_datagram_ends_it) {
    Driver driver;
    driver.gather(6);
    const auto let_links_answer = [&](Duration duration) {
        const TimePoint until = driver.now + duration;
        while (driver.now < until) {
            driver.run_for(milliseconds{10});
            const auto asked = std::exchange(driver.syncs, {});
            for (const SentSync& item : asked) {
                if (item.sync.kind != wire::SyncKind::ping) continue;
                wire::Sync ack;
                ack.header = Driver::header(item.to.value);
                ack.kind = wire::SyncKind::ack;
                ack.seq = item.sync.seq;
                driver.give(ack).value();
            }
        }
    };
    let_links_answer(seconds{3});
    BOOST_TEST(!driver.core.view()->alarms.udp_blocked);
    let_links_answer(seconds{4});
    BOOST_TEST(driver.core.view()->alarms.udp_blocked);
    BOOST_TEST(driver.told(EventKind::udp_blocked, samples::me) == 1U);
    for (std::uint64_t id = 101; id <= 106; ++id) BOOST_TEST(driver.liveness(id) == Liveness::alive);
    driver.run_for(seconds{6}, true);
    BOOST_TEST(!driver.core.view()->alarms.udp_blocked);
    BOOST_TEST(driver.told(EventKind::udp_restored, samples::me) == 1U);
}

// Stopped for 5 s, while at least one timer came due.
void stop_for_a_while(Driver& driver) {
    driver.now = driver.core.next_timeout() + seconds{5};
    driver.core.handle_timeout(driver.now);
    driver.drain();
}

BOOST_AUTO_TEST_CASE(a_stopped_peer_asks_its_suspects_again_before_the_verdict) {
    for (const bool refutes : {true, false}) {
        Driver driver;
        driver.gather(6);
        driver.give(102, {fact(101, MemberState::suspect, 0, 102)}).value();
        // The last question leaves half a second before the end; its answer comes while nobody reads.
        driver.run_for(milliseconds{4700}, true);
        BOOST_TEST_REQUIRE(driver.liveness(101) == Liveness::suspect);
        driver.sent.clear();
        stop_for_a_while(driver);
        BOOST_TEST(driver.liveness(101) == Liveness::suspect);
        BOOST_TEST(told_to(driver, 101, fact(101, MemberState::suspect, 0, 102)) >= 1U);
        if (refutes) driver.give(101, {fact(101, MemberState::alive, 1)}).value();
        driver.run_for(milliseconds{501});
        BOOST_TEST(driver.liveness(101) == (refutes ? Liveness::alive : Liveness::dead));
    }
}

BOOST_AUTO_TEST_CASE(a_stopped_peer_reads_its_backlog_before_a_rack_is_called_dead) {
    Driver driver = with_rack(30, 5);
    driver.give(130, facts(101, 105, MemberState::suspect)).value();
    driver.give(130, facts(101, 104, MemberState::dead)).value();
    stop_for_a_while(driver);
    for (std::uint64_t id = 101; id <= 104; ++id) BOOST_TEST(driver.liveness(id) == Liveness::suspect);
    driver.give(130, {fact(102, MemberState::alive, 1)}).value();
    driver.run_for(milliseconds{501});
    BOOST_TEST(driver.liveness(101) == Liveness::dead);
    BOOST_TEST(driver.liveness(102) == Liveness::alive);
}

BOOST_AUTO_TEST_CASE(a_stopped_peer_reads_its_backlog_before_the_dead_are_lost) {
    Driver driver;
    driver.gather(6);
    driver.give(102, {fact(101, MemberState::dead, 0, 102), fact(103, MemberState::dead, 0, 102)}).value();
    driver.run_for(seconds{29}, true);
    stop_for_a_while(driver);
    BOOST_TEST(driver.liveness(101) == Liveness::dead);
    driver.give(102, {fact(103, MemberState::alive, 1)}).value();
    driver.run_for(milliseconds{501}, true);
    BOOST_TEST(driver.liveness(101) == Liveness::lost);
    BOOST_TEST(driver.liveness(103) == Liveness::alive);
    BOOST_TEST(driver.told(EventKind::lost, PeerId{103}) == 0U);
}

BOOST_AUTO_TEST_CASE(a_peer_that_is_always_late_still_gives_up_the_dead) {
    Driver driver;
    driver.gather(6);
    driver.give(102, {fact(101, MemberState::suspect, 0, 102)}).value();
    for (int i = 0; i < 12; ++i) stop_for_a_while(driver);
    BOOST_TEST(driver.core.roster().find(PeerId{101})->liveness == Liveness::lost);
}

BOOST_AUTO_TEST_SUITE_END()
