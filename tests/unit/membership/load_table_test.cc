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

}  // namespace

BOOST_AUTO_TEST_SUITE(load_table)

BOOST_AUTO_TEST_CASE(the_higher_number_wins_however_late_it_was_measured) {
    LoadTable table;
    BOOST_TEST(table.apply(start, group(5, {report(PeerId{9}, 0, 3)})));
    BOOST_TEST(!table.apply(start + seconds{1}, group(4, {report(PeerId{9}, 0, 8)})));
    BOOST_TEST(!table.apply(start + seconds{1}, group(5, {report(PeerId{9}, 0, 8)})));
    BOOST_TEST(table.entries().at(0).report.in_flight == 3U);
    BOOST_TEST(table.apply(start + seconds{1}, group(6, {report(PeerId{9}, 0, 1)}, milliseconds{300})));
    BOOST_TEST(table.entries().at(0).report.in_flight == 1U);
    BOOST_TEST((table.entries().at(0).measured == start + milliseconds{700}));
}

BOOST_AUTO_TEST_CASE(a_newer_life_counts_from_one_again) {
    LoadTable table;
    BOOST_TEST(table.apply(start, group(50, {report(PeerId{9}, 0, 3)})));
    wire::LoadGroup reborn = group(1, {report(PeerId{9}, 0, 4)});
    reborn.generation = Generation{2};
    BOOST_TEST(table.apply(start, reborn));
    BOOST_TEST(!table.apply(start, group(51, {report(PeerId{9}, 0, 5)})));
    BOOST_TEST(table.entries().at(0).report.in_flight == 4U);
}

BOOST_AUTO_TEST_CASE(a_group_replaces_the_one_before_as_a_whole) {
    LoadTable table;
    table.apply(start, group(1, {report(PeerId{9}, 0, 3), report(PeerId{9}, 1, 3)}));
    table.apply(start, group(2, {report(PeerId{9}, 1, 4)}));
    BOOST_TEST(table.entries().size() == 1U);
    table.drop(PeerId{9});
    BOOST_TEST(table.entries().empty());
}

BOOST_AUTO_TEST_CASE(a_replica_in_two_parts_shows_its_later_measurement_once) {
    LoadTable table;
    wire::LoadGroup other = group(2, {report(PeerId{9}, 8, 5)});
    other.part = 1;
    table.apply(start, group(1, {report(PeerId{9}, 8, 3)}));
    table.apply(start + seconds{1}, other);
    BOOST_TEST(table.entries().size() == 1U);
    BOOST_TEST(table.entries().at(0).report.in_flight == 5U);
}

BOOST_AUTO_TEST_CASE(a_noted_report_is_taken_when_it_is_later_and_its_replica_known) {
    LoadTable table;
    table.apply(start, group(1, {report(PeerId{9}, 0, 3)}));
    BOOST_TEST(!table.note(start + seconds{1}, report(PeerId{9}, 0, 9, seconds{2})));
    BOOST_TEST(!table.note(start + seconds{1}, report(PeerId{9}, 1, 9)));
    BOOST_TEST(table.note(start + seconds{1}, report(PeerId{9}, 0, 9, milliseconds{1})));
    BOOST_TEST(table.entries().at(0).report.in_flight == 9U);
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
    BOOST_TEST(table.entries().at(0).report.in_flight == 1U);
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
    BOOST_TEST(table.entries().size() == 10U);
}

BOOST_AUTO_TEST_CASE(a_group_ages_with_the_hops_it_travels) {
    LoadTable table;
    table.apply(start, group(1, {report(PeerId{9}, 0, 3)}, milliseconds{400}));
    BOOST_TEST((table.group(start + milliseconds{100}, {PeerId{9}, 0})->age == milliseconds{500}));
    BOOST_TEST((table.group(start + std::chrono::hours{9}, {PeerId{9}, 0})->age == std::chrono::hours{1}));
    BOOST_TEST(!table.group(start, {PeerId{8}, 0}).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
