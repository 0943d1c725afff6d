#include "membership/load_table.h"

#include <boost/test/unit_test.hpp>

using namespace exa;
using namespace exa::membership;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

const TimePoint start{seconds{100}};
const PeerId me{7};

wire::LoadReport report(PeerId peer, std::uint16_t slot, std::uint32_t in_flight, Duration age = Duration{0}) {
    return {{peer, DeploymentId{1}, slot}, in_flight, 0, 100, age};
}

wire::LoadGroup group(std::uint64_t number, std::vector<wire::LoadReport> reports, Duration age = Duration{0}) {
    return {PeerId{9}, Generation{1}, number, 0, age, std::move(reports)};
}

std::vector<LoadEntry> entries(const LoadTable& table) {
    std::vector<LoadEntry> all;
    for (const auto& of_peer : table.by_peer()) all.insert(all.end(), of_peer->entries.begin(), of_peer->entries.end());
    return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(load_table)

BOOST_AUTO_TEST_CASE(the_higher_number_wins_however_late_it_was_measured) {
    LoadTable table;
    BOOST_TEST(table.apply(start, group(5, {report(PeerId{9}, 0, 3)})));
    BOOST_TEST(!table.apply(start + seconds{1}, group(4, {report(PeerId{9}, 0, 8)})));
    BOOST_TEST(!table.apply(start + seconds{1}, group(5, {report(PeerId{9}, 0, 8)})));
    BOOST_TEST(entries(table).at(0).report.in_flight == 3U);
    BOOST_TEST(table.apply(start + seconds{1}, group(6, {report(PeerId{9}, 0, 1)}, milliseconds{300})));
    BOOST_TEST(entries(table).at(0).report.in_flight == 1U);
    BOOST_TEST((entries(table).at(0).measured == start + milliseconds{700}));
}

BOOST_AUTO_TEST_CASE(a_newer_life_counts_from_one_again) {
    LoadTable table;
    BOOST_TEST(table.apply(start, group(50, {report(PeerId{9}, 0, 3)})));
    wire::LoadGroup reborn = group(1, {report(PeerId{9}, 0, 4)});
    reborn.generation = Generation{2};
    BOOST_TEST(table.apply(start, reborn));
    BOOST_TEST(!table.apply(start, group(51, {report(PeerId{9}, 0, 5)})));
    BOOST_TEST(entries(table).at(0).report.in_flight == 4U);
}

BOOST_AUTO_TEST_CASE(a_group_replaces_the_one_before_as_a_whole) {
    LoadTable table;
    table.apply(start, group(1, {report(PeerId{9}, 0, 3), report(PeerId{9}, 1, 3)}));
    table.apply(start, group(2, {report(PeerId{9}, 1, 4)}));
    BOOST_TEST(entries(table).size() == 1U);
    table.drop(PeerId{9});
    BOOST_TEST(entries(table).empty());
}

BOOST_AUTO_TEST_CASE(a_replica_in_two_parts_shows_its_later_measurement_once) {
    LoadTable table;
    wire::LoadGroup other = group(2, {report(PeerId{9}, 8, 5)});
    other.part = 1;
    table.apply(start, group(1, {report(PeerId{9}, 8, 3)}));
    table.apply(start + seconds{1}, other);
    BOOST_TEST(entries(table).size() == 1U);
    BOOST_TEST(entries(table).at(0).report.in_flight == 5U);
}

BOOST_AUTO_TEST_CASE(loads_are_shared_until_their_peer_reports_again) {
    LoadTable table;
    table.apply(start, group(1, {report(PeerId{9}, 0, 3)}));
    const wire::LoadReport own[] = {report(me, 0, 1)};
    table.set_own(start, me, Generation{1}, own);
    const auto first = table.by_peer();
    table.set_own(start + seconds{1}, me, Generation{1}, own);
    const auto second = table.by_peer();
    BOOST_REQUIRE(first.size() == 2U);
    BOOST_REQUIRE(second.size() == 2U);
    BOOST_TEST((first[0]->peer == me));
    BOOST_TEST((second[0]->entries.at(0).measured == start + seconds{1}));
    BOOST_TEST((first[0]->entries.at(0).measured == start));
    BOOST_TEST(first[1] == second[1]);
}

BOOST_AUTO_TEST_CASE(a_part_without_those_before_it_is_held) {
    LoadTable table;
    wire::LoadGroup last = group(1, {report(PeerId{9}, 24, 3)});
    last.part = 3;
    BOOST_TEST(table.apply(start, last));
    BOOST_TEST(entries(table).size() == 1U);
    BOOST_TEST(!table.group(start, {PeerId{9}, 0}).has_value());
    BOOST_TEST(table.keys().size() == 1U);
}

BOOST_AUTO_TEST_CASE(own_loads_are_news_only_when_they_changed_by_the_given_part) {
    LoadTable table;
    const auto news = [&](std::uint32_t in_flight) {
        const wire::LoadReport reports[] = {report(me, 0, in_flight)};
        table.set_own(start, me, Generation{1}, reports);
        return table.take_own_news(me, 0.1).size();
    };
    BOOST_TEST(news(100) == 1U);
    BOOST_TEST(news(100) == 0U);
    BOOST_TEST(news(105) == 0U);
    // 9 % after another since what was told: 110 of 100.
    BOOST_TEST(news(110) == 1U);
    BOOST_TEST(news(0) == 1U);
    BOOST_TEST(news(1) == 1U);
    BOOST_TEST(entries(table).at(0).report.in_flight == 1U);
}

BOOST_AUTO_TEST_CASE(a_limit_or_a_queue_that_changed_is_news_and_a_percentile_that_wavers_is_not) {
    LoadTable table;
    wire::LoadReport reports[] = {report(me, 0, 4)};
    const auto news = [&](auto change) {
        change(reports[0]);
        table.set_own(start, me, Generation{1}, reports);
        return table.take_own_news(me, 0.1).size();
    };
    BOOST_TEST(news([](wire::LoadReport& r) { r.in_flight_limit = 32; }) == 1U);
    BOOST_TEST(news([](wire::LoadReport& r) { r.in_flight_limit = 30; }) == 0U);
    BOOST_TEST(news([](wire::LoadReport& r) { r.in_flight_limit = 16; }) == 1U);
    BOOST_TEST(news([](wire::LoadReport& r) { r.queued = 1; }) == 1U);
    BOOST_TEST(news([](wire::LoadReport& r) { r.tbt_p99_ms = 20; }) == 0U);
    BOOST_TEST(news([](wire::LoadReport& r) { r.tbt_p99_ms = 60; }) == 1U);
    BOOST_TEST(news([](wire::LoadReport& r) { r.ttft_p99_ms = 2000; }) == 1U);
    BOOST_TEST(news([](wire::LoadReport& r) { r.ttft_p99_ms = 2100; }) == 0U);
}

BOOST_AUTO_TEST_CASE(many_own_replicas_are_cut_into_parts_and_those_that_end_are_told_empty) {
    LoadTable table;
    std::vector<wire::LoadReport> reports;
    for (std::uint16_t slot = 0; slot < 20; ++slot) reports.push_back(report(me, slot, 1));
    table.set_own(start, me, Generation{1}, reports);
    BOOST_TEST(table.take_own_news(me, 0.1).size() == 3U);
    BOOST_TEST(table.group(start, {me, 2})->reports.size() == 4U);
    reports.resize(10);
    table.set_own(start, me, Generation{1}, reports);
    const auto news = table.take_own_news(me, 0.1);
    BOOST_TEST(news.size() == 2U);
    BOOST_TEST(table.group(start, {me, 1})->reports.size() == 2U);
    BOOST_TEST(table.group(start, {me, 2})->reports.empty());
    BOOST_TEST(entries(table).size() == 10U);
}

BOOST_AUTO_TEST_CASE(a_group_ages_with_the_hops_it_travels) {
    LoadTable table;
    table.apply(start, group(1, {report(PeerId{9}, 0, 3)}, milliseconds{400}));
    BOOST_TEST((table.group(start + milliseconds{100}, {PeerId{9}, 0})->age == milliseconds{500}));
    BOOST_TEST((table.group(start + std::chrono::hours{9}, {PeerId{9}, 0})->age == std::chrono::hours{1}));
    BOOST_TEST(!table.group(start, {PeerId{8}, 0}).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
