#include "router/rate_meter.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

using namespace exa;
using namespace exa::router;
using namespace std::chrono_literals;

namespace {

constexpr TimePoint start{1'000s};

}  // namespace

BOOST_AUTO_TEST_SUITE(rate_meter)

BOOST_AUTO_TEST_CASE(a_burst_fits_at_once_and_the_next_waits_for_its_turn) {
    RateMeter meter(60, 5);
    for (int i = 0; i < 5; ++i) {
        BOOST_TEST(meter.wait(start, 1).count() == 0);
        meter.charge(start, 1);
    }
    BOOST_TEST(meter.wait(start, 1).count() == 1'000'000);
    BOOST_TEST(meter.wait(start + 400ms, 1).count() == 600'000);
    BOOST_TEST(meter.wait(start + 1s, 1).count() == 0);
}

BOOST_AUTO_TEST_CASE(a_rest_earns_a_burst_and_no_more) {
    RateMeter meter(60, 5);
    meter.charge(start, 5);
    const TimePoint later = start + 24h;
    for (int i = 0; i < 5; ++i) meter.charge(later, 1);
    BOOST_TEST(meter.wait(later, 1).count() == 1'000'000);
}

BOOST_AUTO_TEST_CASE(more_than_a_burst_fits_when_a_burst_does_and_is_owed) {
    RateMeter meter(60, 5);
    BOOST_TEST(meter.wait(start, 50).count() == 0);
    meter.charge(start, 50);
    BOOST_TEST(meter.wait(start, 1).count() == 46'000'000);
}

BOOST_AUTO_TEST_CASE(debt_is_bounded_whatever_was_charged) {
    RateMeter meter(1, 1);
    for (int i = 0; i < 100; ++i) meter.charge(start, UINT64_MAX);
    BOOST_TEST(meter.wait(start, 1) == RateMeter::debt_max + 1min);
    BOOST_TEST(meter.wait(start + 1h + 1min, 1).count() == 0);
}

BOOST_AUTO_TEST_CASE(without_a_limit_everything_fits) {
    RateMeter meter(0, 1);
    meter.charge(start, UINT64_MAX);
    BOOST_TEST(meter.wait(start, UINT64_MAX).count() == 0);
}

BOOST_AUTO_TEST_CASE(the_fastest_rate_and_the_largest_burst_keep_their_distance) {
    constexpr std::uint64_t most = RateMeter::per_minute_max;
    RateMeter meter(most, most * 60);
    BOOST_TEST(meter.wait(start, most).count() == 0);
    meter.charge(start, most);
    BOOST_TEST(meter.wait(start, 1).count() == 0);
}

BOOST_AUTO_TEST_SUITE_END()
