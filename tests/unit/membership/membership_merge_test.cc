#include <boost/test/unit_test.hpp>

#include "driver.h"
#include "membership/errc.h"
#include "support/join.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using namespace exa::membership::samples;
using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::MemberState;

namespace {

wire::Sync digest_of(std::uint64_t from, std::vector<wire::DigestEntry> entries) {
    wire::Sync sync;
    sync.header = Driver::header(from);
    sync.kind = wire::SyncKind::digest;
    sync.seq = 33;
    sync.last = PeerId{~std::uint64_t{0}};
    sync.digest = std::move(entries);
    return sync;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(membership_merge)

BOOST_AUTO_TEST_CASE(facts_of_one_instance_are_ordered_by_incarnation_then_state) {
    // held -> told -> believed
    struct Row {
        wire::Fact held;
        wire::Fact told;
        Liveness believed;
    };
    const Row rows[] = {
        {fact(101, MemberState::alive, 1), fact(101, MemberState::suspect, 1, 102), Liveness::suspect},
        {fact(101, MemberState::alive, 2), fact(101, MemberState::suspect, 1, 102), Liveness::alive},
        {fact(101, MemberState::alive, 2), fact(101, MemberState::dead, 1, 102), Liveness::alive},
        {fact(101, MemberState::suspect, 1, 102), fact(101, MemberState::alive, 1), Liveness::suspect},
        {fact(101, MemberState::suspect, 1, 102), fact(101, MemberState::alive, 2), Liveness::alive},
        {fact(101, MemberState::suspect, 1, 102), fact(101, MemberState::dead, 1, 102), Liveness::dead},
        {fact(101, MemberState::suspect, 2, 102), fact(101, MemberState::dead, 1, 102), Liveness::suspect},
        {fact(101, MemberState::dead, 1, 102), fact(101, MemberState::alive, 1), Liveness::dead},
        {fact(101, MemberState::dead, 1, 102), fact(101, MemberState::suspect, 1, 103), Liveness::dead},
        {fact(101, MemberState::dead, 1, 102), fact(101, MemberState::suspect, 5, 102), Liveness::suspect},
        {fact(101, MemberState::dead, 1, 102), fact(101, MemberState::alive, 2), Liveness::alive},
        {fact(101, MemberState::alive, 1), fact(101, MemberState::left, 1), Liveness::left},
        {fact(101, MemberState::dead, 1, 102), fact(101, MemberState::left, 1), Liveness::left},
        {fact(101, MemberState::left, 1), fact(101, MemberState::alive, 9), Liveness::left},
        {fact(101, MemberState::left, 1), fact(101, MemberState::dead, 9, 102), Liveness::left},
    };
    for (const Row& row : rows) {
        Driver driver;
        driver.gather(3);
        driver.give(103, {fact(101, MemberState::alive, row.held.incarnation.value)}).value();
        driver.give(103, {row.held}).value();
        driver.give(103, {row.told}).value();
        BOOST_TEST(driver.liveness(101) == row.believed, "row " << &row - rows);
    }
}

BOOST_AUTO_TEST_CASE(facts_of_another_generation_do_not_touch_this_instance) {
    Driver driver;
    driver.gather(3);
    wire::Packet restarted;
    restarted.header = Driver::header(101, 2);
    restarted.records = {whole(101, 2)};
    driver.give(restarted).value();
    BOOST_TEST(driver.told(EventKind::joined, PeerId{101}) == 1U);
    driver.give(103, {fact(101, MemberState::dead, 9, 102, 1), fact(101, MemberState::left, 9, 0, 1)}).value();
    driver.give(103, {fact(101, MemberState::dead, 9, 102, 3)}).value();
    BOOST_TEST(driver.liveness(101) == Liveness::alive);
}

BOOST_AUTO_TEST_CASE(suspect_refutes_with_higher_incarnation) {
    Driver driver;
    driver.gather(2);
    driver.give(101, {fact(me.value, MemberState::suspect, 4, 102, 5)}).value();
    BOOST_TEST(driver.core.incarnation().value == 5U);
    driver.run_for(milliseconds{250});
    bool told = false;
    for (const Sent& item : driver.sent)
        for (const wire::Fact& fact : item.packet.facts)
            told = told || fact == samples::fact(me.value, MemberState::alive, 5, 0, 5);
    BOOST_TEST(told);
    // The same again is answered already; a death of a lower incarnation as well.
    driver.give(102, {fact(me.value, MemberState::dead, 4, 102, 5)}).value();
    BOOST_TEST(driver.core.incarnation().value == 5U);
    driver.give(102, {fact(me.value, MemberState::dead, 5, 102, 5)}).value();
    BOOST_TEST(driver.core.incarnation().value == 6U);
    BOOST_TEST(driver.core.counters().refutations == 2U);
}

BOOST_AUTO_TEST_CASE(an_accusation_of_our_earlier_instance_is_none_of_this_one) {
    Driver driver;
    driver.gather(1);
    driver.give(101, {fact(me.value, MemberState::dead, 9, 101, 4)}).value();
    BOOST_TEST(driver.core.incarnation().value == 0U);
}

BOOST_AUTO_TEST_CASE(independent_accusers_shorten_a_suspicion_and_repetitions_do_not) {
    const auto dead_after = [](std::vector<std::uint64_t> accusers) {
        Config config;
        config.out_of_turn_probers = 0;
        config.dead_after_max = seconds{600};
        config.suspicion_max = seconds{20};
        config.probe_interval = seconds{30};
        Driver driver(config);
        driver.gather(8);
        for (const std::uint64_t accuser : accusers)
            driver.give(accuser, {fact(101, MemberState::suspect, 0, accuser)}).value();
        const TimePoint from = driver.now;
        while (driver.liveness(101) == Liveness::suspect) driver.run_for(milliseconds{10});
        return driver.now - from;
    };
    BOOST_TEST(dead_after({102}) >= seconds{20});
    BOOST_TEST(dead_after({102, 102, 102, 102}) >= seconds{20});
    BOOST_TEST(dead_after({102, 103}) < seconds{12});
    BOOST_TEST(dead_after({102, 103, 104, 105}) < milliseconds{2600});
}

BOOST_AUTO_TEST_CASE(dead_becomes_lost_after_thirty_seconds_unless_refuted) {
    for (const bool refuted : {false, true}) {
        Driver driver;
        driver.gather(3);
        driver.give(103, {fact(101, MemberState::dead, 0, 102)}).value();
        driver.run_for(seconds{29}, true);
        BOOST_TEST(driver.liveness(101) == Liveness::dead);
        if (refuted) driver.give(103, {fact(101, MemberState::alive, 1)}).value();
        driver.run_for(seconds{2}, true);
        BOOST_TEST(driver.liveness(101) == (refuted ? Liveness::alive : Liveness::lost));
        BOOST_TEST(driver.told(EventKind::lost, PeerId{101}) == (refuted ? 0U : 1U));
    }
}

BOOST_AUTO_TEST_CASE(a_death_heard_in_a_comparison_is_a_suspicion_first) {
    Driver driver;
    driver.gather(3);
    driver.give(digest_of(103, {{PeerId{101}, Generation{1}, Incarnation{0}, MemberState::dead, 1}})).value();
    BOOST_TEST(driver.liveness(101) == Liveness::suspect);
}

BOOST_AUTO_TEST_CASE(a_peer_that_is_new_and_dead_is_never_alive_to_us) {
    Driver driver;
    driver.gather(1);
    wire::Sync updates;
    updates.header = Driver::header(101);
    updates.kind = wire::SyncKind::updates;
    updates.records = {whole(110), whole(111), whole(112)};
    updates.facts = {fact(110, MemberState::dead, 0, 101), fact(111, MemberState::left),
                     fact(112, MemberState::suspect, 0, 101)};
    driver.give(updates).value();
    BOOST_TEST(driver.liveness(110) == Liveness::dead);
    BOOST_TEST(driver.liveness(111) == Liveness::left);
    BOOST_TEST(driver.liveness(112) == Liveness::suspect);
    BOOST_TEST(driver.told(EventKind::joined, PeerId{111}) == 0U);
    BOOST_TEST(driver.core.roster().live_count() == 3U);
}

BOOST_AUTO_TEST_CASE(a_record_that_we_cannot_follow_is_asked_for_once_over_the_link) {
    Driver driver;
    driver.gather(2);
    wire::Packet update;
    update.header = Driver::header(102);
    wire::RecordDelta delta = whole(101);
    delta.base = 5;
    delta.version = 6;
    update.records = {delta};
    for (int twice = 0; twice < 2; ++twice) driver.give(update).value();
    BOOST_TEST_REQUIRE(driver.syncs.size() == 1U);
    BOOST_TEST(driver.syncs[0].to == PeerId{102});
    BOOST_TEST(driver.syncs[0].sync.pulls == (std::vector{wire::Pull{PeerId{101}, Generation{1}, 1}}));
    driver.now += Config{}.pull_timeout;
    driver.give(update).value();
    BOOST_TEST(driver.syncs.size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_header_with_a_newer_version_than_ours_leads_to_a_pull) {
    Driver driver;
    driver.gather(1);
    wire::Packet packet;
    packet.header = Driver::header(101);
    packet.header.record_version = 3;
    driver.give(packet).value();
    BOOST_TEST_REQUIRE(driver.syncs.size() == 1U);
    BOOST_TEST(driver.syncs[0].sync.pulls.at(0).peer == PeerId{101});
}

BOOST_AUTO_TEST_CASE(a_digest_is_answered_with_what_is_newer_here_and_asks_for_what_is_newer_there) {
    Driver driver;
    driver.gather(4);
    driver.give(103, {fact(104, MemberState::alive, 7)}).value();
    driver
        .give(digest_of(103, {{PeerId{101}, Generation{1}, Incarnation{0}, MemberState::alive, 1},
                              {PeerId{102}, Generation{1}, Incarnation{0}, MemberState::alive, 9},
                              {PeerId{103}, Generation{1}, Incarnation{0}, MemberState::alive, 1},
                              {PeerId{104}, Generation{1}, Incarnation{2}, MemberState::alive, 1},
                              {PeerId{200}, Generation{1}, Incarnation{0}, MemberState::alive, 1}}))
        .value();
    BOOST_TEST_REQUIRE(driver.syncs.size() == 1U);
    const wire::Sync& answer = driver.syncs[0].sync;
    BOOST_TEST(answer.kind == wire::SyncKind::updates);
    BOOST_TEST(answer.seq == 33U);
    BOOST_TEST(!answer.more);
    BOOST_TEST(
        (answer.pulls == std::vector{wire::Pull{PeerId{102}, Generation{1}, 1}, wire::Pull{PeerId{200}, {}, 0}}));
    // Ourselves they lacked; of 104 only the incarnation was new.
    BOOST_TEST_REQUIRE(answer.records.size() == 1U);
    BOOST_TEST(answer.records[0].peer == me);
    BOOST_TEST_REQUIRE(answer.facts.size() == 2U);
    BOOST_TEST(answer.facts[1] == fact(104, MemberState::alive, 7));
}

BOOST_AUTO_TEST_CASE(many_peers_are_compared_by_a_summary_and_listed_only_where_it_differs) {
    const auto high = [](std::uint64_t part, std::uint64_t i) { return (part << 58) + i; };
    Driver driver;
    driver.gather(100);
    for (const std::uint64_t id : {high(4, 1), high(5, 1), high(9, 1), high(9, 2)}) {
        wire::Packet packet;
        packet.header = Driver::header(id);
        packet.records = {whole(id)};
        driver.give(packet).value();
    }
    driver.run_for(seconds{40}, true);
    BOOST_TEST(driver.syncs_of(wire::SyncKind::digest).empty());
    const auto summaries = driver.syncs_of(wire::SyncKind::summary);
    BOOST_REQUIRE(!summaries.empty());
    wire::Sync same = summaries.back().sync;
    same.header = Driver::header(101);
    driver.syncs.clear();
    driver.give(same).value();
    BOOST_TEST_REQUIRE(driver.syncs.size() == 1U);
    BOOST_TEST(driver.syncs[0].sync.kind == wire::SyncKind::updates);
    BOOST_TEST(driver.syncs[0].sync.seq == same.seq);
    for (const std::size_t part : {4U, 5U, 9U}) ++same.summary[part];
    driver.syncs.clear();
    driver.give(same).value();
    BOOST_TEST_REQUIRE(driver.syncs.size() == 3U);
    const wire::Sync& two = driver.syncs[1].sync;
    BOOST_TEST(two.kind == wire::SyncKind::digest);
    BOOST_TEST(two.first == PeerId{high(4, 0)});
    BOOST_TEST(two.last == PeerId{high(6, 0) - 1});
    BOOST_TEST(two.digest.size() == 2U);
    const wire::Sync& one = driver.syncs[2].sync;
    BOOST_TEST(one.first == PeerId{high(9, 0)});
    BOOST_TEST(one.last == PeerId{high(10, 0) - 1});
    BOOST_TEST(one.digest.size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_big_answer_is_cut_and_its_last_piece_says_so) {
    Config config;
    Driver driver(config);
    driver.gather(0);
    for (std::uint64_t id = 101; id < 1101; ++id) {
        wire::Packet packet;
        packet.header = Driver::header(id);
        packet.records = {whole(id)};
        driver.give(packet).value();
    }
    driver.syncs.clear();
    wire::Sync digest = digest_of(101, {});
    driver.give(digest).value();
    BOOST_TEST_REQUIRE(driver.syncs.size() > 2U);
    std::size_t records = 0;
    for (const SentSync& item : driver.syncs) {
        records += item.sync.records.size();
        BOOST_TEST(item.sync.seq == 33U);
        BOOST_TEST(item.sync.more == (&item != &driver.syncs.back()));
    }
    BOOST_TEST(records == 1000U);
}

BOOST_AUTO_TEST_CASE(joining_takes_one_comparison_with_a_seed_that_answers) {
    Driver driver;
    driver.core.join(start, through({endpoint(101)}));
    driver.run_for(milliseconds{1});
    BOOST_TEST_REQUIRE(driver.sent.size() == 1U);
    BOOST_TEST(driver.sent[0].packet.records.at(0).peer == me);
    wire::Packet ack = Driver::ack_of(driver.sent[0].packet);
    ack.header = Driver::header(101);
    ack.target = PeerId{101};
    ack.records = {whole(101)};
    driver.give(ack).value();
    BOOST_TEST_REQUIRE(driver.syncs.size() == 1U);
    BOOST_TEST(driver.syncs[0].to == PeerId{101});
    BOOST_TEST(driver.syncs[0].sync.kind == wire::SyncKind::digest);
    BOOST_TEST(driver.syncs[0].sync.want_loads);
    wire::Sync updates;
    updates.header = Driver::header(101);
    updates.kind = wire::SyncKind::updates;
    updates.seq = driver.syncs[0].sync.seq;
    updates.more = true;
    updates.records = {whole(102)};
    driver.give(updates).value();
    BOOST_TEST(!driver.core.is_joined());
    updates.more = false;
    updates.records = {whole(103)};
    driver.give(updates).value();
    BOOST_TEST(driver.core.is_joined());
    BOOST_TEST(driver.told(EventKind::joined_cluster, me) == 1U);
    BOOST_TEST(driver.core.roster().live_count() == 4U);
}

BOOST_AUTO_TEST_CASE(after_a_late_join_the_next_comparisons_are_a_quarter_and_then_half_a_second_away) {
    Driver driver;
    driver.core.join(start, through({endpoint(101)}));
    driver.run_for(seconds{300});
    wire::Packet hello;
    hello.header = Driver::header(101);
    hello.records = {whole(101)};
    driver.give(hello).value();
    wire::Sync updates;
    updates.header = Driver::header(101);
    updates.kind = wire::SyncKind::updates;
    updates.seq = driver.syncs.at(0).sync.seq;
    driver.give(updates).value();
    BOOST_TEST(driver.core.is_joined());
    driver.syncs.clear();
    driver.run_for(milliseconds{280}, true);
    BOOST_TEST(driver.syncs_of(wire::SyncKind::digest).size() == 1U);
    driver.run_for(milliseconds{560}, true);
    BOOST_TEST(driver.syncs_of(wire::SyncKind::digest).size() == 2U);
}

BOOST_AUTO_TEST_CASE(deaths_and_new_instances_that_we_hear_of_are_spread_on) {
    Driver driver;
    driver.gather(5);
    driver.give(103, {fact(101, MemberState::dead, 0, 102)}).value();
    wire::Packet restarted;
    restarted.header = Driver::header(103);
    restarted.records = {whole(104, 2)};
    driver.give(restarted).value();
    driver.run_for(milliseconds{250});
    bool death = false;
    bool instance = false;
    for (const Sent& item : driver.sent_of(wire::PacketKind::gossip)) {
        death = death || std::ranges::count(item.packet.facts, fact(101, MemberState::dead, 0, 102)) != 0;
        instance = instance || std::ranges::count(item.packet.records, whole(104, 2)) != 0;
    }
    BOOST_TEST(death);
    BOOST_TEST(instance);
}

BOOST_AUTO_TEST_CASE(a_link_message_in_anothers_name_is_an_error) {
    Driver driver;
    driver.gather(2);
    wire::Sync sync;
    sync.header = Driver::header(101);
    sync.kind = wire::SyncKind::updates;
    sync.facts = {fact(101, MemberState::left)};
    const auto result = driver.core.handle_sync(driver.now, PeerId{102}, wire::encode(sync).value());
    BOOST_TEST(result.error().code == membership::errc::not_the_sender);
    BOOST_TEST(driver.liveness(101) == Liveness::alive);
}

BOOST_AUTO_TEST_CASE(loads_of_the_unknown_and_the_dead_are_dropped) {
    Driver driver;
    driver.gather(2);
    wire::Packet packet;
    packet.header = Driver::header(101);
    for (const std::uint64_t id : {101U, 102U, 150U}) {
        wire::LoadGroup group{PeerId{id}, Generation{1}, 1, 0, Duration{0}, {}};
        group.reports = {{{PeerId{id}, DeploymentId{1}, 0}, 3, 0, 0, Duration{0}}};
        packet.loads.push_back(group);
    }
    driver.give(packet).value();
    BOOST_TEST(driver.core.view()->loads.size() == 2U);
    driver.give(101, {fact(102, MemberState::dead, 0, 101)}).value();
    BOOST_TEST(driver.core.view()->loads.size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
