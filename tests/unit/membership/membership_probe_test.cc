#include <boost/test/unit_test.hpp>
#include <set>

#include "driver.h"
#include "support/join.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using namespace exa::membership::samples;
using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::MemberState;
using wire::PacketKind;

namespace {

wire::Packet ping(std::uint64_t from, PeerId target) {
    wire::Packet packet;
    packet.header = Driver::header(from);
    packet.kind = PacketKind::ping;
    packet.seq = 4711;
    packet.target = target;
    return packet;
}

// Runs until a new probe has just been sent; returns it.
wire::Packet next_probe(Driver& driver) {
    const std::size_t before = driver.sent_of(PacketKind::ping).size();
    while (driver.sent_of(PacketKind::ping).size() == before) driver.run_for(milliseconds{1});
    return driver.sent_of(PacketKind::ping).back().packet;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(membership_probe)

BOOST_AUTO_TEST_CASE(a_ping_meant_for_us_or_for_whoever_is_there_is_answered_with_its_number) {
    Driver driver;
    driver.gather(1);
    for (const PeerId target : {me, PeerId{}}) {
        driver.sent.clear();
        driver.give(ping(101, target)).value();
        BOOST_TEST_REQUIRE(driver.sent.size() == 1U);
        BOOST_TEST(driver.sent[0].to == endpoint(101));
        BOOST_TEST(driver.sent[0].packet.kind == PacketKind::ack);
        BOOST_TEST(driver.sent[0].packet.seq == 4711U);
        BOOST_TEST(driver.sent[0].packet.target == me);
        BOOST_TEST(!driver.sent[0].packet.want_record);
    }
}

BOOST_AUTO_TEST_CASE(a_ping_meant_for_another_at_our_address_is_not_answered) {
    Driver driver;
    driver.gather(1);
    driver.give(ping(101, PeerId{102})).value();
    BOOST_TEST(driver.sent.empty());
    BOOST_TEST(driver.core.counters().misdirected == 1U);
}

BOOST_AUTO_TEST_CASE(an_unknown_sender_is_asked_who_it_is_and_answered_when_it_asks) {
    Driver driver;
    driver.gather(0);
    wire::Packet hello = ping(101, PeerId{});
    hello.want_record = true;
    driver.give(hello).value();
    BOOST_TEST_REQUIRE(driver.sent.size() == 1U);
    BOOST_TEST(driver.sent[0].packet.want_record);
    BOOST_TEST_REQUIRE(driver.sent[0].packet.records.size() == 1U);
    BOOST_TEST(driver.sent[0].packet.records[0].peer == me);
    BOOST_TEST(driver.core.view()->find(PeerId{101}) == nullptr);
}

BOOST_AUTO_TEST_CASE(an_unanswered_ping_asks_three_others_and_the_link_and_ends_in_suspicion) {
    Driver driver;
    driver.gather(6);
    const wire::Packet probe = next_probe(driver);
    driver.run_for(milliseconds{501});
    const auto requests = driver.sent_of(PacketKind::ping_request);
    std::set<Endpoint> asked;
    for (const Sent& request : requests) {
        BOOST_TEST(request.packet.target == probe.target);
        BOOST_TEST(request.packet.target_endpoint == endpoint(probe.target.value));
        BOOST_TEST(request.to != endpoint(probe.target.value));
        asked.insert(request.to);
    }
    BOOST_TEST(asked.size() == 3U);
    const auto links_tried = driver.syncs_of(wire::SyncKind::ping);
    BOOST_TEST_REQUIRE(links_tried.size() == 1U);
    BOOST_TEST(links_tried[0].to == probe.target);
    BOOST_TEST(driver.liveness(probe.target.value) == Liveness::alive);
    driver.run_for(milliseconds{500});
    BOOST_TEST(driver.liveness(probe.target.value) == Liveness::suspect);
    BOOST_TEST(driver.told(EventKind::suspect, probe.target) == 1U);
}

BOOST_AUTO_TEST_CASE(an_answer_over_the_link_or_through_another_is_as_good_as_a_direct_one) {
    for (const bool over_link : {true, false}) {
        Driver driver;
        driver.gather(6);
        const wire::Packet probe = next_probe(driver);
        driver.run_for(milliseconds{600});
        if (over_link) {
            wire::Sync ack;
            ack.header = Driver::header(probe.target.value);
            ack.kind = wire::SyncKind::ack;
            ack.seq = driver.syncs_of(wire::SyncKind::ping).at(0).sync.seq;
            driver.give(ack).value();
        } else {
            wire::Packet ack = Driver::ack_of(probe);
            ack.header = Driver::header(probe.target == PeerId{101} ? 102 : 101);
            driver.give(ack).value();
        }
        driver.run_for(milliseconds{600});
        BOOST_TEST(driver.liveness(probe.target.value) == Liveness::alive);
        BOOST_TEST(driver.core.counters().probes_failed == 0U);
    }
}

BOOST_AUTO_TEST_CASE(an_answer_to_another_number_does_not_count) {
    Driver driver;
    driver.gather(6);
    const wire::Packet probe = next_probe(driver);
    wire::Packet ack = Driver::ack_of(probe);
    ack.seq += 1000;
    driver.give(ack).value();
    driver.run_for(milliseconds{1001});
    BOOST_TEST(driver.liveness(probe.target.value) == Liveness::suspect);
}

BOOST_AUTO_TEST_CASE(silence_of_the_helpers_too_is_our_own_sickness_and_stretches_our_probes) {
    Driver silent;
    silent.gather(6);
    next_probe(silent);
    silent.run_for(milliseconds{1001});
    BOOST_TEST(silent.core.local_health() == 3U);

    Driver helped;
    helped.gather(6);
    const wire::Packet probe = next_probe(helped);
    helped.run_for(milliseconds{600});
    for (const Sent& request : helped.sent_of(PacketKind::ping_request)) {
        wire::Packet nack;
        nack.header = Driver::header(request.to.address[15]);
        nack.kind = PacketKind::nack;
        nack.seq = probe.seq;
        nack.target = probe.target;
        helped.give(nack).value();
        // Twice from one helper is no more than once.
        helped.give(nack).value();
    }
    helped.run_for(milliseconds{401});
    BOOST_TEST(helped.core.local_health() == 0U);
    BOOST_TEST(helped.told(EventKind::suspect, probe.target) == 1U);
}

BOOST_AUTO_TEST_CASE(a_request_is_carried_out_and_its_answer_passed_on) {
    Driver driver;
    driver.gather(2);
    wire::Packet request = ping(101, PeerId{102});
    request.kind = PacketKind::ping_request;
    request.target_endpoint = endpoint(102);
    driver.give(request).value();
    const auto pings = driver.sent_of(PacketKind::ping);
    BOOST_TEST_REQUIRE(pings.size() == 1U);
    BOOST_TEST(pings[0].to == endpoint(102));
    driver.give(Driver::ack_of(pings[0].packet)).value();
    const auto acks = driver.sent_of(PacketKind::ack);
    BOOST_TEST_REQUIRE(acks.size() == 1U);
    BOOST_TEST(acks[0].to == endpoint(101));
    BOOST_TEST(acks[0].packet.seq == 4711U);
    BOOST_TEST(acks[0].packet.target == PeerId{102});
    driver.run_for(milliseconds{450}, true);
    BOOST_TEST(driver.sent_of(PacketKind::nack).empty());
}

BOOST_AUTO_TEST_CASE(a_request_without_answer_brings_a_nack_before_the_requester_gives_up) {
    Driver driver;
    driver.gather(2);
    wire::Packet request = ping(101, PeerId{102});
    request.kind = PacketKind::ping_request;
    request.target_endpoint = endpoint(102);
    driver.give(request).value();
    driver.run_for(milliseconds{399});
    BOOST_TEST(driver.sent_of(PacketKind::nack).empty());
    driver.run_for(milliseconds{2});
    const auto nacks = driver.sent_of(PacketKind::nack);
    BOOST_TEST_REQUIRE(nacks.size() == 1U);
    BOOST_TEST(nacks[0].to == endpoint(101));
    BOOST_TEST(nacks[0].packet.seq == 4711U);
}

BOOST_AUTO_TEST_CASE(a_flood_of_requests_is_helped_only_so_far) {
    Driver driver;
    driver.gather(2);
    wire::Packet request = ping(101, PeerId{102});
    request.kind = PacketKind::ping_request;
    request.target_endpoint = endpoint(102);
    for (int i = 0; i < 2000; ++i) driver.give(request).value();
    BOOST_TEST(driver.sent_of(PacketKind::ping).size() == 256U);
}

BOOST_AUTO_TEST_CASE(the_suspect_hears_of_its_suspicion_in_the_next_ping_to_it) {
    Driver driver;
    driver.gather(1);
    driver.give(101, {}).value();
    driver.core.handle_link_broken(driver.now, PeerId{101}, Generation{1});
    driver.run_for(milliseconds{1});
    const auto pings = driver.sent_of(PacketKind::ping);
    BOOST_REQUIRE(!pings.empty());
    BOOST_REQUIRE(!pings[0].packet.facts.empty());
    BOOST_TEST(pings[0].packet.facts[0] == fact(101, wire::MemberState::suspect, 0, me.value));
}

BOOST_AUTO_TEST_CASE(in_a_small_cluster_everyone_checks_a_suspicion_at_once_and_in_a_large_one_a_few) {
    std::size_t checked = 0;
    for (const std::size_t others : {4U, 200U}) {
        Driver driver;
        driver.gather(others);
        for (std::uint64_t suspect = 101; suspect < 101 + std::min<std::size_t>(others, 50); ++suspect) {
            driver.sent.clear();
            driver.give(300, {fact(suspect, wire::MemberState::suspect, 0, 999)}).value();
            driver.run_for(milliseconds{1}, true);
            const auto pings = driver.sent_of(PacketKind::ping);
            const bool now =
                std::ranges::any_of(pings, [&](const Sent& ping) { return ping.packet.target == PeerId{suspect}; });
            if (others == 4) BOOST_TEST(now);
            if (others == 200 && now) ++checked;
        }
    }
    BOOST_TEST(checked <= 5U);
}

BOOST_AUTO_TEST_CASE(seeds_are_dialled_for_ever_and_ever_more_slowly) {
    Driver driver;
    driver.core.join(start, through({endpoint(101), endpoint(me.value)}));
    driver.run_for(seconds{60});
    const std::size_t first_minute = driver.sent_of(PacketKind::ping).size();
    driver.run_for(seconds{600});
    const std::size_t rest = driver.sent_of(PacketKind::ping).size() - first_minute;
    BOOST_TEST(first_minute > 8U);
    BOOST_TEST(rest >= 58U);
    BOOST_TEST(rest <= 62U);
    for (const Sent& item : driver.sent) BOOST_TEST(item.to == endpoint(101));
    BOOST_TEST(!driver.core.is_joined());
}

BOOST_AUTO_TEST_CASE(dead_peers_are_dialled_and_told_that_they_are_called_dead) {
    Driver driver;
    driver.gather(3);
    driver.give(101, {fact(102, wire::MemberState::dead, 0, 101)}).value();
    driver.sent.clear();
    driver.run_for(seconds{6}, true);
    const auto to_dead = std::ranges::find(driver.sent, endpoint(102), &Sent::to);
    BOOST_TEST_REQUIRE(to_dead != driver.sent.end());
    BOOST_TEST(to_dead->packet.facts.at(0) == fact(102, wire::MemberState::dead, 0, 101));
}

BOOST_AUTO_TEST_CASE(rosters_that_go_on_differing_are_compared_more_and_more_rarely) {
    Driver driver;
    driver.gather(6);
    wire::Packet hello = ping(101, me);
    const auto compared = [&](std::uint32_t roster, Duration after) {
        driver.run_for(after, true);
        driver.syncs.clear();
        hello.roster = roster;
        driver.give(hello).value();
        const auto digests = driver.syncs_of(wire::SyncKind::digest);
        return std::ranges::any_of(digests, [](const SentSync& item) { return item.to == PeerId{101}; });
    };
    // What we know ourselves is in our own pings.
    driver.run_for(seconds{2}, true);
    const std::uint32_t same = driver.sent_of(PacketKind::ping).back().packet.roster;
    BOOST_TEST(same != 0U);
    BOOST_TEST(!compared(same + 1, milliseconds{10}));
    BOOST_TEST(!compared(same, seconds{1}));
    BOOST_TEST(compared(same + 1, seconds{1}));
    BOOST_TEST(!compared(same + 1, milliseconds{900}));
    BOOST_TEST(compared(same + 1, milliseconds{200}));
    BOOST_TEST(!compared(same + 1, milliseconds{1100}));
    // A suspicion is no difference, a death is.
    driver.give(102, {fact(103, MemberState::suspect, 0, 102)}).value();
    driver.sent.clear();
    driver.run_for(seconds{2}, true);
    BOOST_TEST(driver.sent_of(PacketKind::ping).back().packet.roster == same);
    driver.give(102, {fact(103, MemberState::dead, 0, 102)}).value();
    driver.sent.clear();
    driver.run_for(seconds{2}, true);
    BOOST_TEST(driver.sent_of(PacketKind::ping).back().packet.roster != same);
}

BOOST_AUTO_TEST_CASE(a_late_peer_suspects_nobody_and_is_less_healthy) {
    for (const bool late : {false, true}) {
        Driver driver;
        driver.gather(6);
        const wire::Packet probe = next_probe(driver);
        driver.run_for(milliseconds{400});
        if (late) {
            // Stopped for 0.4 s while the probe's timeout passed.
            driver.now += milliseconds{400};
            driver.core.handle_timeout(driver.now);
            BOOST_TEST(driver.core.local_health() == 1U);
        }
        driver.run_for(milliseconds{1100});
        BOOST_TEST(driver.liveness(probe.target.value) == (late ? Liveness::alive : Liveness::suspect));
    }
}

BOOST_AUTO_TEST_SUITE_END()
