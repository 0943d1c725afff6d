#include "membership/membership.h"

#include <boost/test/unit_test.hpp>

#include "base/rng.h"
#include "driver.h"
#include "membership/errc.h"
#include "support/join.h"
#include "support/print.h"
#include "wire/errc.h"

using namespace exa;
using namespace exa::membership;
using namespace exa::membership::samples;
using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::MemberState;

namespace {

// We are peer 7, of the name of peer 101, which claims it with 5; 102 is there too.
Driver with_namesake(wire::PeerState state, std::uint32_t claim) {
    wire::PeerRecord own = record(me.value, 5);
    own.name = "peer-101";
    own.state = state;
    own.name_claim = claim;
    Driver driver({}, own);
    driver.core.join(start, through({endpoint(101)}));
    wire::PeerRecord holder = record(101);
    holder.name_claim = 5;
    wire::Packet packet;
    packet.header = Driver::header(101);
    packet.records = {whole(holder), whole(102)};
    driver.give(packet).value();
    wire::Sync updates;
    updates.kind = wire::SyncKind::updates;
    updates.header = Driver::header(101);
    updates.seq = driver.syncs_of(wire::SyncKind::digest).at(0).sync.seq;
    driver.give(updates).value();
    BOOST_TEST(driver.core.is_joined());
    return driver;
}

// Peer 101's answer to the last question for it, with its record, in which it has that name.
wire::Packet answer_with_record(const Driver& driver, const std::string& name) {
    wire::Packet ack;
    for (const Sent& item : driver.sent)
        if (item.packet.kind == wire::PacketKind::ping && item.packet.want_record && item.packet.target == PeerId{101})
            ack = Driver::ack_of(item.packet);
    BOOST_TEST_REQUIRE(ack.seq != 0U);
    wire::PeerRecord holder = record(101);
    holder.name = name;
    holder.name_claim = 5;
    ack.records = {whole(holder)};
    return ack;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(membership)

BOOST_AUTO_TEST_CASE(the_first_peer_is_joined_at_once_also_when_it_is_its_own_seed) {
    for (const bool own_seed : {false, true}) {
        Driver driver;
        driver.core.join(start, through(own_seed ? std::vector{endpoint(me.value)} : std::vector<Endpoint>{}));
        driver.drain();
        BOOST_TEST(driver.core.is_joined());
        BOOST_TEST_REQUIRE(driver.events.size() == 1U);
        BOOST_TEST(driver.events[0].kind == EventKind::joined_cluster);
        BOOST_TEST(driver.events[0].peer == me);
        BOOST_TEST(driver.core.view()->members.size() == 1U);
    }
}

BOOST_AUTO_TEST_CASE(a_seed_that_turns_out_to_be_ourselves_makes_us_the_first) {
    Driver driver;
    // Another address of ours, that our record does not name.
    driver.core.join(start, through({endpoint(999)}));
    driver.run_for(milliseconds{1});
    BOOST_TEST_REQUIRE(driver.sent.size() == 1U);
    BOOST_TEST(
        driver.core.handle_packet(driver.now, endpoint(999), wire::encode(driver.sent[0].packet).value()).has_value());
    driver.drain();
    BOOST_TEST(driver.core.is_joined());
    BOOST_TEST(driver.told(EventKind::id_conflict, me) == 0U);
}

BOOST_AUTO_TEST_CASE(a_joined_peer_asks_all_new_seeds_at_once) {
    Driver driver;
    driver.gather(1);
    driver.core.join(driver.now, through({endpoint(998), endpoint(999)}));
    driver.drain();
    BOOST_TEST_REQUIRE(driver.sent.size() == 2U);
    for (const Sent& item : driver.sent) BOOST_TEST(item.packet.want_record);
    BOOST_TEST(driver.sent[0].to == endpoint(998));
    BOOST_TEST(driver.sent[1].to == endpoint(999));
}

BOOST_AUTO_TEST_CASE(a_record_gets_the_next_version_when_it_changed_and_only_then) {
    Driver driver;
    driver.gather(1);
    wire::PeerRecord next = driver.core.record();
    BOOST_TEST(driver.core.set_record(driver.now, next).has_value());
    BOOST_TEST(driver.core.record().version == 1U);
    next.state = wire::PeerState::draining;
    next.version = 77;
    BOOST_TEST(driver.core.set_record(driver.now, next).has_value());
    BOOST_TEST(driver.core.record().version == 2U);
    driver.run_for(milliseconds{250});
    bool told = false;
    for (const Sent& item : driver.sent)
        for (const wire::RecordDelta& delta : item.packet.records)
            told = told || (delta.peer == me && delta.base == 1 && delta.version == 2 && delta.replicas.empty());
    BOOST_TEST(told);
}

BOOST_AUTO_TEST_CASE(a_starting_record_is_spread_rarely_but_its_end_and_each_loss_at_once) {
    Driver driver;
    driver.gather(1);
    std::set<std::uint64_t> versions;
    const auto told_in = [&](Duration time) {
        driver.sent.clear();
        driver.run_for(time, true);
        const std::size_t before = versions.size();
        for (const Sent& item : driver.sent)
            for (const wire::RecordDelta& delta : item.packet.records)
                if (delta.peer == me) versions.insert(delta.version);
        return versions.size() - before;
    };
    wire::PeerRecord next = driver.core.record();
    next.replicas.clear();
    for (std::uint16_t slot = 0; slot < 20; ++slot) {
        next.replicas.push_back(samples::replica(me, slot));
        next.replicas.back().state = wire::ReplicaState::warming;
    }
    driver.core.set_record(driver.now, next).value();
    BOOST_TEST(told_in(milliseconds{100}) == 1U);
    std::size_t told = 0;
    for (std::size_t slot = 0; slot < 19; ++slot) {
        next.replicas[slot].state = wire::ReplicaState::ready;
        driver.core.set_record(driver.now, next).value();
        told += told_in(milliseconds{100});
    }
    BOOST_TEST(told >= 2U);
    BOOST_TEST(told <= 4U);
    next.replicas[19].state = wire::ReplicaState::ready;
    driver.core.set_record(driver.now, next).value();
    told_in(milliseconds{100});
    BOOST_TEST(versions.contains(driver.core.record().version));
    next.replicas[5].state = wire::ReplicaState::failed;
    driver.core.set_record(driver.now, next).value();
    told_in(milliseconds{100});
    BOOST_TEST(versions.contains(driver.core.record().version));
}

BOOST_AUTO_TEST_CASE(a_record_of_another_instance_or_out_of_bounds_is_refused) {
    Driver driver;
    wire::PeerRecord next = driver.core.record();
    next.generation = Generation{6};
    BOOST_TEST(driver.core.set_record(start, next).error().code == errc::invalid_record);
    next = driver.core.record();
    next.name = std::string(1000, 'x');
    BOOST_TEST(driver.core.set_record(start, next).error().code == errc::invalid_record);
    next = driver.core.record();
    next.replicas[0].id.peer = PeerId{1};
    BOOST_TEST(driver.core.set_record(start, next).error().code == errc::invalid_record);
    BOOST_TEST(driver.core.record().version == 1U);
}

BOOST_AUTO_TEST_CASE(a_broken_link_is_suspected_at_once) {
    Driver driver;
    driver.gather(3);
    driver.core.handle_link_broken(driver.now, PeerId{102}, Generation{1});
    BOOST_TEST(driver.liveness(102) == Liveness::suspect);
    driver.core.handle_link_broken(driver.now, PeerId{999}, Generation{1});
    driver.core.handle_link_broken(driver.now, me, Generation{1});
    BOOST_TEST(driver.liveness(me.value) == Liveness::alive);
}

BOOST_AUTO_TEST_CASE(a_broken_link_to_an_earlier_instance_accuses_nobody) {
    Driver driver;
    driver.gather(3);
    wire::Sync sync;
    sync.kind = wire::SyncKind::updates;
    sync.header = Driver::header(101);
    sync.records = {samples::whole(102)};
    sync.records[0].generation = Generation{2};
    driver.give(sync).value();
    driver.core.handle_link_broken(driver.now, PeerId{102}, Generation{1});
    BOOST_TEST(driver.liveness(102) == Liveness::alive);
    driver.core.handle_link_broken(driver.now, PeerId{102}, Generation{2});
    BOOST_TEST(driver.liveness(102) == Liveness::suspect);
}

BOOST_AUTO_TEST_CASE(leaving_is_spread_and_then_everything_ends) {
    Driver driver;
    driver.gather(3);
    BOOST_TEST(driver.core.leave(driver.now).has_value());
    BOOST_TEST(driver.core.leave(driver.now).error().code == errc::left);
    driver.run_for(milliseconds{900});
    std::set<Endpoint> told;
    for (const Sent& item : driver.sent)
        for (const wire::Fact& fact : item.packet.facts)
            if (fact == samples::fact(me.value, MemberState::left, 0, 0, 5)) told.insert(item.to);
    BOOST_TEST(told.size() == 3U);
    BOOST_TEST(driver.told(EventKind::left_cluster, me) == 0U);
    // While it lasts, a ping is answered and no doubt is refuted.
    driver.give(101, {fact(me.value, MemberState::suspect, 0, 101, 5)}).value();
    BOOST_TEST(driver.liveness(me.value) == Liveness::left);
    driver.run_for(milliseconds{200});
    BOOST_TEST(driver.told(EventKind::left_cluster, me) == 1U);
    BOOST_TEST(driver.core.next_timeout() == time_never);
    driver.sent.clear();
    wire::Packet ping;
    ping.header = Driver::header(101);
    ping.kind = wire::PacketKind::ping;
    driver.give(ping).value();
    BOOST_TEST(driver.sent.empty());
    BOOST_TEST(driver.core.set_record(driver.now, record(me.value, 5)).error().code == errc::left);
}

BOOST_AUTO_TEST_CASE(a_peer_that_left_is_shown_for_a_minute_and_remembered_for_another) {
    Driver driver;
    driver.gather(2);
    driver.give(102, {fact(101, MemberState::left)}).value();
    driver.run_for(seconds{59}, true);
    BOOST_TEST(driver.liveness(101) == Liveness::left);
    driver.run_for(seconds{2}, true);
    BOOST_TEST(driver.core.view()->find(PeerId{101}) == nullptr);
    BOOST_TEST(driver.told(EventKind::forgotten, PeerId{101}) == 1U);
    // Late gossip of its instance does not bring it back.
    wire::Packet late;
    late.header = Driver::header(102);
    late.records = {whole(101)};
    driver.give(late).value();
    BOOST_TEST(driver.core.view()->find(PeerId{101}) == nullptr);
    driver.run_for(seconds{60}, true);
    BOOST_TEST(driver.core.roster().find(PeerId{101}) == nullptr);
    BOOST_TEST(driver.told(EventKind::forgotten, PeerId{101}) == 1U);
}

BOOST_AUTO_TEST_CASE(tombstones_are_bounded_and_the_oldest_goes_first) {
    Config config;
    config.tombstones_max = 3;
    config.members_max = 50;
    Driver driver(config);
    driver.gather(10);
    for (std::uint64_t id = 101; id < 106; ++id) {
        driver.give(110, {fact(id, MemberState::dead, 0, 110)}).value();
        driver.now += milliseconds{1};
    }
    BOOST_TEST(driver.core.roster().find(PeerId{101}) == nullptr);
    BOOST_TEST(driver.core.roster().find(PeerId{102}) == nullptr);
    for (std::uint64_t id = 103; id < 106; ++id) BOOST_TEST(driver.liveness(id) == Liveness::dead);
    BOOST_TEST(driver.told(EventKind::forgotten, PeerId{101}) == 1U);
}

BOOST_AUTO_TEST_CASE(a_newcomer_gives_way_to_a_namesake_that_answers_and_not_before) {
    Driver driver = with_namesake(wire::PeerState::starting, 0);
    BOOST_TEST(driver.told(EventKind::waits_for_name, me) == 1U);
    BOOST_TEST((driver.core.alarms().name_holder == PeerId{101}));
    driver.run_for(seconds{2});
    BOOST_TEST(driver.told(EventKind::name_conflict, me) == 0U);
    driver.give(answer_with_record(driver, "peer-101")).value();
    const auto at = std::ranges::find(driver.events, EventKind::name_conflict, &Event::kind);
    BOOST_TEST_REQUIRE(at != driver.events.end());
    BOOST_TEST(at->refuse);
    BOOST_TEST(at->other == PeerId{101});
}

BOOST_AUTO_TEST_CASE(a_newcomer_takes_the_name_of_a_namesake_that_is_called_dead) {
    Driver driver = with_namesake(wire::PeerState::starting, 0);
    driver.give(102, {fact(101, MemberState::dead, 0, 102)}).value();
    BOOST_TEST((driver.core.record().state == wire::PeerState::serving));
    // One more than the claim of the dead one.
    BOOST_TEST(driver.core.record().name_claim == 6U);
    BOOST_TEST((driver.core.alarms().name_holder == PeerId{}));
    // It comes back, and is told of the conflict: it yields.
    wire::Packet back;
    back.header = Driver::header(101, 1, 1);
    driver.give(back).value();
    const auto at = std::ranges::find(driver.events, EventKind::name_conflict, &Event::kind);
    BOOST_TEST_REQUIRE(at != driver.events.end());
    BOOST_TEST(at->peer == PeerId{101});
    BOOST_TEST(!at->refuse);
}

BOOST_AUTO_TEST_CASE(a_peer_that_serves_yields_to_a_higher_claim_only_when_its_bearer_says_so) {
    Driver driver = with_namesake(wire::PeerState::serving, 4);
    driver.run_for(seconds{2});
    BOOST_TEST(driver.told(EventKind::name_conflict, me) == 0U);
    // What others said of its name was wrong.
    driver.give(answer_with_record(driver, "another")).value();
    BOOST_TEST(driver.told(EventKind::name_conflict, me) == 0U);
    driver.give(answer_with_record(driver, "peer-101")).value();
    BOOST_TEST(driver.told(EventKind::name_conflict, me) == 1U);
}

BOOST_AUTO_TEST_CASE(a_holder_is_not_moved_by_a_newcomer_of_its_name) {
    Driver driver = with_namesake(wire::PeerState::serving, 6);
    const auto at = std::ranges::find(driver.events, EventKind::name_conflict, &Event::kind);
    BOOST_TEST_REQUIRE(at != driver.events.end());
    BOOST_TEST(at->peer == PeerId{101});
    BOOST_TEST(!at->refuse);
}

BOOST_AUTO_TEST_CASE(of_the_ghosts_of_one_name_one_is_remembered) {
    Config config;
    config.lost_after = seconds{1};
    Driver driver(config);
    driver.gather(8);
    for (std::uint64_t id = 201; id <= 205; ++id) {
        wire::PeerRecord ghost = record(id);
        ghost.name = "again";
        ghost.name_claim = static_cast<std::uint32_t>(id - 200);
        wire::Packet packet;
        packet.header = Driver::header(101);
        packet.records = {whole(ghost)};
        packet.facts = {fact(id, MemberState::dead, 0, 101)};
        driver.give(packet).value();
        driver.run_for(seconds{2}, true);
    }
    for (std::uint64_t id = 201; id <= 204; ++id) BOOST_TEST(driver.core.roster().find(PeerId{id}) == nullptr);
    BOOST_TEST((driver.liveness(205) == Liveness::lost));
    // Those who have not forgotten yet do not bring it back.
    wire::PeerRecord ghost = record(203);
    ghost.name = "again";
    ghost.name_claim = 3;
    wire::Packet packet;
    packet.header = Driver::header(102);
    packet.records = {whole(ghost)};
    packet.facts = {fact(203, MemberState::dead, 0, 101)};
    driver.give(packet).value();
    BOOST_TEST(driver.core.roster().find(PeerId{203}) == nullptr);
}

BOOST_AUTO_TEST_CASE(a_death_leaves_at_once_although_loads_wait_for_their_turn) {
    Config config;
    config.load_gossip_interval = seconds{2};
    Driver driver(config);
    driver.gather(20);
    const auto load = [&](std::uint32_t in_flight) {
        const std::vector<wire::LoadReport> reports{{{me, DeploymentId{1}, 0}, in_flight, 0, 0, Duration{0}}};
        driver.core.set_loads(driver.now, reports);
        driver.run_for(Duration{0});
    };
    load(10);
    driver.run_for(seconds{1}, true);
    load(20);
    driver.run_for(seconds{1}, true);
    BOOST_TEST(!driver.sent_of(wire::PacketKind::gossip).empty());
    driver.sent.clear();
    BOOST_REQUIRE(driver.give(102, {fact(101, MemberState::dead, 0, 103)}).has_value());
    driver.run_for(Duration{0});
    const auto sent = driver.sent_of(wire::PacketKind::gossip);
    BOOST_TEST(sent.size() == config.gossip_fanout);
    BOOST_TEST(sent.at(0).packet.facts.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_small_change_of_load_leaves_although_nothing_changes_after_it) {
    Config config;
    Driver driver(config);
    driver.gather(2);
    const auto load = [&](std::uint32_t in_flight) {
        const std::vector<wire::LoadReport> reports{{{me, DeploymentId{1}, 0}, in_flight, 0, 0, Duration{0}}};
        driver.core.set_loads(driver.now, reports);
    };
    const auto told = [&](std::uint32_t in_flight) {
        return std::ranges::any_of(driver.sent, [&](const Sent& item) {
            return std::ranges::any_of(item.packet.loads, [&](const wire::LoadGroup& group) {
                return group.reports.at(0).in_flight == in_flight;
            });
        });
    };
    load(1);
    driver.run_for(config.load_interval_max / 2, true);
    BOOST_TEST(!told(1));
    driver.run_for(config.load_interval_max, true);
    BOOST_TEST(told(1));
}

BOOST_AUTO_TEST_CASE(own_loads_show_at_once_and_leave_at_most_once_a_second) {
    Driver driver;
    driver.gather(2);
    std::vector<std::uint64_t> numbers;
    for (std::uint32_t i = 1; i <= 40; ++i) {
        const wire::LoadReport reports[] = {{{me, DeploymentId{1}, 0}, i * 10, 0, 0, Duration{0}},
                                            {{PeerId{101}, DeploymentId{1}, 0}, i, 0, 0, Duration{0}}};
        driver.core.set_loads(driver.now, reports);
        BOOST_TEST(driver.core.view()->loads.size() == 1U);
        BOOST_TEST(driver.core.view()->find_load({me, DeploymentId{1}, 0})->report.in_flight == i * 10);
        driver.drain();
        driver.run_for(milliseconds{100}, true);
    }
    for (const Sent& item : driver.sent)
        for (const wire::LoadGroup& group : item.packet.loads) numbers.push_back(group.number);
    BOOST_REQUIRE(!numbers.empty());
    BOOST_TEST(*std::ranges::max_element(numbers) >= 3U);
    BOOST_TEST(*std::ranges::max_element(numbers) <= 5U);
}

BOOST_AUTO_TEST_CASE(a_view_is_rebuilt_only_when_something_changed) {
    Driver driver;
    driver.gather(2);
    const auto view = driver.core.view();
    BOOST_TEST(driver.core.view() == view);
    driver.give(101, {}).value();
    BOOST_TEST(driver.core.view() == view);
    driver.give(101, {fact(102, MemberState::suspect, 0, 101)}).value();
    BOOST_TEST(driver.core.view() != view);
    BOOST_TEST(driver.core.view()->number == view->number + 1);
    BOOST_TEST(view->find(PeerId{102})->liveness == Liveness::alive);
}

BOOST_AUTO_TEST_CASE(foreign_and_damaged_bytes_are_counted_and_change_nothing) {
    Driver driver;
    driver.gather(2);
    const auto view = driver.core.view();
    wire::Packet packet;
    packet.header = Driver::header(101);
    packet.facts = {fact(102, MemberState::left)};
    packet.header.cluster = cluster_id("other");
    BOOST_TEST(driver.give(packet).error().code == wire::errc::wrong_cluster);
    packet.header.cluster = cluster;
    Bytes bytes = wire::encode(packet).value();
    bytes.pop_back();
    BOOST_TEST(driver.core.handle_packet(driver.now, endpoint(101), bytes).has_error());
    BOOST_TEST(driver.core.handle_sync(driver.now, PeerId{101}, bytes).has_error());
    Rng rng(1);
    for (int round = 0; round < 500; ++round) {
        Bytes noise(rng.below(1400));
        for (auto& byte : noise) byte = static_cast<std::uint8_t>(rng.next());
        BOOST_TEST(driver.core.handle_packet(driver.now, endpoint(101), noise).has_error());
    }
    BOOST_TEST(driver.core.view() == view);
    BOOST_TEST(driver.core.counters().wrong_cluster == 1U);
    BOOST_TEST(driver.core.counters().malformed == 502U);
    BOOST_TEST(!driver.core.poll_transmit().has_value());
}

// Well formed but hostile: whatever a member says, we neither crash nor grow past our bounds.
BOOST_AUTO_TEST_CASE(a_lying_member_cannot_grow_us_or_break_us) {
    Config config;
    config.members_max = 60;
    config.tombstones_max = 20;
    Driver driver(config);
    driver.gather(4);
    Rng rng(3);
    for (int round = 0; round < 3000; ++round) {
        wire::Packet packet;
        packet.header = Driver::header(101 + rng.below(4), 1 + rng.below(3), rng.below(5));
        packet.header.instance = 1 + static_cast<std::uint32_t>(rng.below(2));
        packet.kind = static_cast<wire::PacketKind>(rng.below(5));
        packet.want_record = rng.below(2) == 0;
        packet.seq = rng.below(400);
        packet.target = PeerId{rng.below(3) == 0 ? me.value : 100 + rng.below(100)};
        packet.target_endpoint = endpoint(rng.below(300));
        for (std::uint64_t i = rng.below(6); i > 0; --i)
            packet.facts.push_back(fact(100 + rng.below(100), static_cast<MemberState>(rng.below(4)), rng.below(8),
                                        rng.below(200), rng.below(4)));
        for (std::uint64_t i = rng.below(3); i > 0; --i) {
            wire::RecordDelta delta = whole(101 + rng.below(200), rng.below(4));
            delta.instance = 1 + static_cast<std::uint32_t>(rng.below(2));
            delta.version = 2 + rng.below(9);
            delta.base = rng.below(2) == 0 ? 0 : 1;
            packet.records.push_back(delta);
        }
        (void)driver.give(packet);
        driver.run_for(milliseconds{static_cast<std::int64_t>(rng.below(60))});
        BOOST_TEST_REQUIRE(driver.core.roster().size() <= 60U);
        BOOST_TEST_REQUIRE(driver.core.roster().dead().size() <= 20U);
    }
    BOOST_TEST(!driver.core.is_over());
    BOOST_TEST(driver.core.counters().dropped == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
