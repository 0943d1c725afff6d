#include "membership/load_table.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

using namespace exa;
using namespace exa::membership;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

const TimePoint start{seconds{100}};
const PeerId me{7};
const LoadReportRule any;

wire::LoadReport report(PeerId peer, std::uint16_t slot, std::uint32_t in_flight, Duration age = Duration{0}) {
    return {{peer, DeploymentId{1}, slot}, in_flight, 0, 100, age};
}

wire::LoadGroup group(std::uint64_t number, std::vector<wire::LoadReport> reports, Duration age = Duration{0}) {
    return {PeerId{9}, Generation{1}, number, 0, age, std::move(reports)};
}

std::vector<LoadEntry> entries(LoadTable& table) {
    std::vector<LoadEntry> all;
    const LoadList loads = table.by_peer();
    for (std::size_t i = 0; i < loads.size(); ++i)
        all.insert(all.end(), loads[i]->entries.begin(), loads[i]->entries.end());
    return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(load_table)

BOOST_AUTO_TEST_CASE(the_higher_number_wins_however_late_it_was_measured) {
    LoadTable table;
    BOOST_TEST(table.apply(start, group(5, {report(PeerId{9}, 0, 3)}), any) != LoadChange::none);
    BOOST_TEST(table.apply(start + seconds{1}, group(4, {report(PeerId{9}, 0, 8)}), any) == LoadChange::none);
    BOOST_TEST(table.apply(start + seconds{1}, group(5, {report(PeerId{9}, 0, 8)}), any) == LoadChange::none);
    BOOST_TEST(entries(table).at(0).report.in_flight == 3U);
    BOOST_TEST(table.apply(start + seconds{1}, group(6, {report(PeerId{9}, 0, 1)}, milliseconds{300}), any) !=
               LoadChange::none);
    BOOST_TEST(entries(table).at(0).report.in_flight == 1U);
    BOOST_TEST(entries(table).at(0).measured == start + milliseconds{700});
}

BOOST_AUTO_TEST_CASE(a_forwarder_judges_a_load_report_as_its_author_does) {
    LoadTable table;
    wire::ReplicaRecord record;
    record.id = {PeerId{9}, DeploymentId{1}, 0};
    record.in_flight_limit = 8;
    LoadReportRule rule;
    rule.replicas = std::span(&record, 1);
    const auto hear = [&](std::uint64_t number, std::uint32_t in_flight) {
        return table.apply(start, group(number, {report(PeerId{9}, 0, in_flight)}), rule);
    };
    BOOST_TEST(hear(1, 3) == LoadChange::small);
    BOOST_TEST(hear(2, 5) == LoadChange::small);
    BOOST_TEST(hear(3, 6) == LoadChange::soon);
    BOOST_TEST(hear(4, 6) == LoadChange::small);
    BOOST_TEST(hear(5, 1) == LoadChange::eased);
    BOOST_TEST(hear(5, 8) == LoadChange::none);
}

BOOST_AUTO_TEST_CASE(a_replica_that_fell_idle_is_told_of_soon_and_only_once) {
    LoadTable table;
    const LoadReportRule rule;
    std::vector<seconds> told;
    for (int second = 0; second < 1000; ++second) {
        const wire::LoadReport now[] = {report(me, 0, second < 400 ? 2 : second % 2 == 0 ? 1 : 0)};
        table.set_own(start + seconds{second}, me, Generation{1}, now);
        if (!table.take_own_updates(start + seconds{second}, me, rule).empty()) told.emplace_back(second);
    }
    // Two after five minutes, none a second after it was so; then a minor change every five minutes and its end.
    BOOST_TEST_REQUIRE(told.size() >= 2U);
    BOOST_TEST((told[0] == seconds{300}));
    BOOST_TEST((told[1] == seconds{401}));
    BOOST_TEST(told.size() <= 6U);
}

BOOST_AUTO_TEST_CASE(a_newer_instance_counts_from_one_again) {
    LoadTable table;
    BOOST_TEST(table.apply(start, group(50, {report(PeerId{9}, 0, 3)}), any) != LoadChange::none);
    wire::LoadGroup restarted = group(1, {report(PeerId{9}, 0, 4)});
    restarted.generation = Generation{2};
    BOOST_TEST(table.apply(start, restarted, any) != LoadChange::none);
    BOOST_TEST(table.apply(start, group(51, {report(PeerId{9}, 0, 5)}), any) == LoadChange::none);
    BOOST_TEST(entries(table).at(0).report.in_flight == 4U);
}

BOOST_AUTO_TEST_CASE(a_group_replaces_the_one_before_as_a_whole) {
    LoadTable table;
    table.apply(start, group(1, {report(PeerId{9}, 0, 3), report(PeerId{9}, 1, 3)}), any);
    table.apply(start, group(2, {report(PeerId{9}, 1, 4)}), any);
    BOOST_TEST(entries(table).size() == 1U);
    table.drop(PeerId{9});
    BOOST_TEST(entries(table).empty());
}

BOOST_AUTO_TEST_CASE(a_replica_in_two_parts_shows_its_later_measurement_once) {
    LoadTable table;
    wire::LoadGroup other = group(2, {report(PeerId{9}, 8, 5)});
    other.part = 1;
    table.apply(start, group(1, {report(PeerId{9}, 8, 3)}), any);
    table.apply(start + seconds{1}, other, any);
    BOOST_TEST(entries(table).size() == 1U);
    BOOST_TEST(entries(table).at(0).report.in_flight == 5U);
}

BOOST_AUTO_TEST_CASE(loads_are_shared_until_their_peer_reports_again) {
    LoadTable table;
    table.apply(start, group(1, {report(PeerId{9}, 0, 3)}), any);
    const wire::LoadReport own[] = {report(me, 0, 1)};
    table.set_own(start, me, Generation{1}, own);
    const auto first = table.by_peer();
    table.set_own(start + seconds{1}, me, Generation{1}, own);
    const auto second = table.by_peer();
    BOOST_TEST_REQUIRE(first.size() == 2U);
    BOOST_TEST_REQUIRE(second.size() == 2U);
    BOOST_TEST(first[0]->peer == me);
    BOOST_TEST(second[0]->entries.at(0).measured == start + seconds{1});
    BOOST_TEST(first[0]->entries.at(0).measured == start);
    BOOST_TEST(first[1] == second[1]);
}

BOOST_AUTO_TEST_CASE(a_report_touches_the_shelf_of_its_peer_alone_and_all_peers_stay_in_order) {
    LoadTable table;
    std::vector<std::uint64_t> ids;
    for (std::uint64_t i = 0; i < 100; ++i) ids.push_back(1 + (i * 37) % 100);
    for (const std::uint64_t id : ids) {
        wire::LoadGroup one{PeerId{id}, Generation{1}, 1, 0, Duration{0}, {report(PeerId{id}, 0, 3)}};
        table.apply(start, one, any);
        if (id % 7 == 0) table.by_peer();
    }
    const LoadList first = table.by_peer();
    BOOST_TEST_REQUIRE(first.size() == 100U);
    for (std::size_t i = 0; i < 100; ++i) BOOST_TEST(first[i]->peer == PeerId{i + 1});
    table.apply(start, {PeerId{40}, Generation{1}, 2, 0, Duration{0}, {report(PeerId{40}, 0, 5)}}, any);
    const LoadList second = table.by_peer();
    for (std::size_t chunk = 0; chunk < first.chunks().size(); ++chunk)
        BOOST_TEST((first.chunks()[chunk] == second.chunks()[chunk]) == (chunk != 39 / LoadList::chunk_peers));
    BOOST_TEST(second[39]->entries.at(0).report.in_flight == 5U);
    table.drop(PeerId{64});
    const LoadList third = table.by_peer();
    BOOST_TEST_REQUIRE(third.size() == 99U);
    BOOST_TEST(third[62]->peer == PeerId{63});
    BOOST_TEST(third[63]->peer == PeerId{65});
    BOOST_TEST(second.chunks()[0] == third.chunks()[0]);
}

BOOST_AUTO_TEST_CASE(a_part_without_those_before_it_is_held) {
    LoadTable table;
    wire::LoadGroup last = group(1, {report(PeerId{9}, 24, 3)});
    last.part = 3;
    BOOST_TEST(table.apply(start, last, any) != LoadChange::none);
    BOOST_TEST(entries(table).size() == 1U);
    BOOST_TEST(!table.group(start, {PeerId{9}, 0}).has_value());
    BOOST_TEST(table.keys().size() == 1U);
}

// One own replica whose load was told at `start`, and the wait from then until what it becomes is told.
struct OneReplica {
    std::vector<wire::ReplicaRecord> records{1};
    LoadReportRule rule;
    LoadTable table;
    wire::LoadReport load = report(me, 0, 0);

    OneReplica(std::uint32_t limit, std::uint32_t told) {
        records[0].id = load.replica;
        records[0].in_flight_limit = limit;
        rule.replicas = records;
        load.in_flight = told;
        table.set_own(start - rule.interval_max, me, Generation{1}, std::span(&load, 1));
        BOOST_TEST(table.take_own_updates(start, me, rule).size() == 1U);
        BOOST_TEST(wait() == std::nullopt);
    }

    void set(std::uint32_t in_flight) {
        load.in_flight = in_flight;
        table.set_own(start, me, Generation{1}, std::span(&load, 1));
    }
    std::optional<Duration> wait() {
        table.set_own(start, me, Generation{1}, std::span(&load, 1));
        const auto due = table.own_update_due(me, rule);
        return due ? std::optional(*due - start) : std::nullopt;
    }
    std::optional<Duration> wait(std::uint32_t in_flight) {
        set(in_flight);
        return wait();
    }
};

BOOST_AUTO_TEST_CASE(a_replica_that_gets_busy_is_reported_soon_and_one_with_room_later) {
    OneReplica one(32, 2);
    BOOST_TEST(one.wait(1) == one.rule.interval_max);
    BOOST_TEST(one.wait(23) == one.rule.interval_max);
    BOOST_TEST(one.wait(24) == one.rule.interval);
    BOOST_TEST(one.table.take_own_updates(start, me, one.rule).empty());
    BOOST_TEST(one.table.take_own_updates(start + one.rule.interval - milliseconds{1}, me, one.rule).empty());
    BOOST_TEST(one.table.take_own_updates(start + one.rule.interval, me, one.rule).size() == 1U);
    BOOST_TEST(entries(one.table).at(0).report.in_flight == 24U);
}

BOOST_AUTO_TEST_CASE(a_replica_that_is_busy_for_a_moment_is_not_reported) {
    OneReplica one(8, 1);
    const auto told = [&](std::uint32_t in_flight, Duration after) {
        one.set(in_flight);
        return one.table.take_own_updates(start + one.rule.interval + after, me, one.rule).size();
    };
    BOOST_TEST(told(7, seconds{0}) == 0U);
    BOOST_TEST(told(2, one.rule.interval / 2) == 0U);
    BOOST_TEST(told(7, one.rule.interval) == 0U);
    BOOST_TEST(told(8, 2 * one.rule.interval) == 1U);
}

BOOST_AUTO_TEST_CASE(a_replica_never_reported_counts_as_reported_idle) {
    LoadTable table;
    const LoadReportRule rule;
    wire::LoadReport idle[] = {report(me, 0, 0)};
    idle[0].kv_used_permille = 0;
    table.set_own(start, me, Generation{1}, idle);
    BOOST_TEST(table.own_update_due(me, rule) == std::nullopt);
    const wire::LoadReport little[] = {report(me, 0, 1)};
    table.set_own(start, me, Generation{1}, little);
    BOOST_TEST(table.own_update_due(me, rule) == start + rule.interval_max);
    BOOST_TEST(table.take_own_updates(start + rule.interval_max - milliseconds{1}, me, rule).empty());
    const wire::LoadReport busy[] = {report(me, 0, 5)};
    table.set_own(start, me, Generation{1}, busy);
    BOOST_TEST(table.own_update_due(me, rule) == start + rule.interval);
    table.set_own(start, me, Generation{1}, little);
    BOOST_TEST(table.take_own_updates(start + rule.interval_max, me, rule).size() == 1U);
    table.set_own(start, me, Generation{1}, idle);
    BOOST_TEST(table.own_update_due(me, rule) == start + rule.interval_max + rule.interval);
    table.set_own(start, me, Generation{1}, little);
    BOOST_TEST(table.own_update_due(me, rule) == std::nullopt);
}

BOOST_AUTO_TEST_CASE(a_replica_reported_as_full_is_reported_again_until_it_has_room) {
    OneReplica busy(32, 20);
    BOOST_TEST(busy.wait(19) == busy.rule.interval_max);
    BOOST_TEST(busy.wait(18) == busy.rule.interval);
    BOOST_TEST(busy.wait(0) == busy.rule.interval);
    OneReplica free(32, 3);
    BOOST_TEST(free.wait(2) == free.rule.interval_max);
    BOOST_TEST(free.wait(0) == free.rule.interval, "it fell idle");
}

BOOST_AUTO_TEST_CASE(a_small_replica_is_busy_from_the_floor_on) {
    OneReplica small(4, 1);
    BOOST_TEST(small.wait(3) == small.rule.interval_max);
    BOOST_TEST(small.wait(4) == small.rule.interval);
}

BOOST_AUTO_TEST_CASE(waiting_tokens_and_a_filling_cache_are_reported_soon_once_they_matter) {
    OneReplica one(32, 1);
    one.load.queued_tokens = 2047;
    BOOST_TEST(one.wait() == one.rule.interval_max);
    one.load.queued_tokens = 2048;
    BOOST_TEST(one.wait() == one.rule.interval);
    one.load.queued_tokens = 0;
    one.load.kv_used_permille = 749;
    BOOST_TEST(one.wait() == one.rule.interval_max);
    one.load.kv_used_permille = 750;
    BOOST_TEST(one.wait() == one.rule.interval);
}

BOOST_AUTO_TEST_CASE(a_waiting_request_is_reported_soon_and_a_limit_or_percentile_later) {
    OneReplica one(32, 1);
    one.load.tbt_p99_ms = 60;
    BOOST_TEST(one.wait() == one.rule.interval_max);
    one.load.in_flight_limit = 16;
    BOOST_TEST(one.wait() == one.rule.interval_max);
    one.load.queued = 1;
    BOOST_TEST(one.wait() == one.rule.interval);
}

BOOST_AUTO_TEST_CASE(a_replica_that_admits_less_than_its_record_says_is_busy_sooner) {
    OneReplica one(32, 1);
    one.load.in_flight_limit = 16;
    BOOST_TEST(one.wait(11) == one.rule.interval_max);
    BOOST_TEST(one.wait(12) == one.rule.interval);
}

BOOST_AUTO_TEST_CASE(many_own_replicas_are_cut_into_parts_and_ended_ones_are_sent_empty) {
    LoadTable table;
    const LoadReportRule rule;
    std::vector<wire::LoadReport> reports;
    for (std::uint16_t slot = 0; slot < 20; ++slot) reports.push_back(report(me, slot, 1));
    table.set_own(start - rule.interval_max, me, Generation{1}, reports);
    BOOST_TEST(table.take_own_updates(start, me, rule).size() == 3U);
    BOOST_TEST(table.group(start, {me, 2})->reports.size() == 4U);
    reports.resize(10);
    table.set_own(start, me, Generation{1}, reports);
    BOOST_TEST(table.take_own_updates(start, me, rule).empty());
    const auto updates = table.take_own_updates(start + rule.interval, me, rule);
    BOOST_TEST(updates.size() == 2U);
    BOOST_TEST(table.group(start, {me, 1})->reports.size() == 2U);
    BOOST_TEST(table.group(start, {me, 2})->reports.empty());
    BOOST_TEST(entries(table).size() == 10U);
}

BOOST_AUTO_TEST_CASE(a_group_ages_with_the_hops_it_travels) {
    LoadTable table;
    table.apply(start, group(1, {report(PeerId{9}, 0, 3)}, milliseconds{400}), any);
    BOOST_TEST(table.group(start + milliseconds{100}, {PeerId{9}, 0})->age == milliseconds{500});
    BOOST_TEST(table.group(start + std::chrono::hours{9}, {PeerId{9}, 0})->age == std::chrono::hours{1});
    BOOST_TEST(!table.group(start, {PeerId{8}, 0}).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
