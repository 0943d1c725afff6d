#include "loadgen/timeline.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

using namespace exa;
using namespace exa::loadgen;
using namespace std::chrono_literals;

namespace {

constexpr TimePoint start{1'000s};

std::uint64_t started_in(const Timeline& timeline) {
    std::uint64_t sum = 0;
    for (const Window& window : timeline.windows()) sum += window.started;
    return sum;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(timeline)

BOOST_AUTO_TEST_CASE(a_moment_falls_into_the_window_of_its_time) {
    Timeline timeline(start, 1s);
    ++timeline.at(start).started;
    ++timeline.at(start + 999ms).started;
    ++timeline.at(start + 1s).started;
    ++timeline.at(start - 5s).started;
    BOOST_TEST_REQUIRE(timeline.windows().size() == 2u);
    BOOST_TEST(timeline.windows()[0].started == 3u);
    BOOST_TEST(timeline.windows()[1].started == 1u);
}

BOOST_AUTO_TEST_CASE(a_long_run_has_wider_windows_and_loses_no_count) {
    Timeline timeline(start, 1s);
    for (int second = 0; second < 10'000; ++second) {
        Window& window = timeline.at(start + second * 1s);
        ++window.started;
        window.ttft_us.add(static_cast<std::uint64_t>(second));
        BOOST_TEST(timeline.windows().size() <= Timeline::windows_max);
    }
    BOOST_TEST(started_in(timeline) == 10'000u);
    BOOST_TEST(timeline.width() == 64s);
    BOOST_TEST(timeline.windows()[1].started == 64u);
    BOOST_TEST(timeline.windows()[1].ttft_us.min() == 64u);
    ++timeline.at(start).started;
    BOOST_TEST(timeline.windows()[0].started == 65u);
}

BOOST_AUTO_TEST_CASE(timelines_of_different_widths_merge) {
    Timeline coarse(start, 1s);
    coarse.at(start + 1'000s).started = 5;
    Timeline fine(start, 1s);
    fine.at(start + 10s).started = 7;
    Timeline other = fine;
    fine.merge(coarse);
    coarse.merge(other);
    for (const Timeline* merged : {&fine, &coarse}) {
        BOOST_TEST(merged->width() == 8s);
        BOOST_TEST(merged->windows()[1].started == 7u);
        BOOST_TEST(merged->windows()[125].started == 5u);
    }
}

BOOST_AUTO_TEST_CASE(one_far_moment_costs_no_more_than_the_bound) {
    Timeline timeline(start, 1ms);
    ++timeline.at(start + 24h * 365).started;
    BOOST_TEST(timeline.windows().size() <= Timeline::windows_max);
    BOOST_TEST(started_in(timeline) == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
