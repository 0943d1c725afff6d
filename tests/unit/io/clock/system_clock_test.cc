#include "io/clock/system_clock.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

using exa::io::clock::SystemClock;
using Steady = std::chrono::steady_clock;

BOOST_AUTO_TEST_SUITE(system_clock)

BOOST_AUTO_TEST_CASE(now_is_the_steady_clock_in_microseconds) {
    const SystemClock clock;
    const auto before = Steady::now();
    const auto now = SystemClock::to_steady(clock.now());
    const auto after = Steady::now();
    BOOST_TEST(now >= before - std::chrono::microseconds(1));
    BOOST_TEST(now <= after);
}

BOOST_AUTO_TEST_CASE(wall_time_is_unix_time) {
    const auto unix_now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    BOOST_TEST(std::abs(SystemClock().wall().unix_seconds() - unix_now) <= 1);
}

BOOST_AUTO_TEST_CASE(never_is_never) {
    BOOST_TEST(SystemClock::to_steady(exa::time_never) == Steady::time_point::max());
}

BOOST_AUTO_TEST_SUITE_END()
