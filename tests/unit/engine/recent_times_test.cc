#include "engine/recent_times.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(recent_times)

using namespace exa;
using engine::RecentTimes;
using std::chrono::milliseconds;
using std::chrono::seconds;

BOOST_AUTO_TEST_CASE(nothing_was_measured_nothing_is_known) {
    const RecentTimes times;
    BOOST_TEST(!times.percentile(TimePoint{}, 990).has_value());
}

BOOST_AUTO_TEST_CASE(percentile_is_the_smallest_that_so_many_do_not_exceed) {
    RecentTimes times;
    for (int i = 100; i >= 1; --i) times.add(TimePoint{}, milliseconds(i));
    BOOST_TEST(times.percentile(TimePoint{}, 990) == milliseconds(99));
    BOOST_TEST(times.percentile(TimePoint{}, 500) == milliseconds(50));
    BOOST_TEST(times.percentile(TimePoint{}, 1000) == milliseconds(100));
    BOOST_TEST(times.percentile(TimePoint{}, 1) == milliseconds(1));
}

BOOST_AUTO_TEST_CASE(older_times_make_room) {
    RecentTimes times;
    times.add(TimePoint{}, seconds(9));
    for (std::size_t i = 0; i < RecentTimes::kept_max; ++i) times.add(TimePoint{}, milliseconds(1));
    BOOST_TEST(times.percentile(TimePoint{}, 1000) == milliseconds(1));
}

BOOST_AUTO_TEST_CASE(what_is_a_minute_old_says_nothing) {
    RecentTimes times;
    times.add(TimePoint{}, seconds(9));
    times.add(TimePoint{} + seconds(30), milliseconds(1));
    BOOST_TEST(times.percentile(TimePoint{} + seconds(59), 1000) == seconds(9));
    BOOST_TEST(times.percentile(TimePoint{} + seconds(60), 1000) == milliseconds(1));
    BOOST_TEST(!times.percentile(TimePoint{} + seconds(90), 1000).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
