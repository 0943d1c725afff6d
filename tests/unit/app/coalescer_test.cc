#include "app/coalescer.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(coalescer)

using namespace exa;
using namespace exa::app;
using std::chrono::microseconds;

namespace {

std::int64_t rest_us(microseconds window, microseconds waited, microseconds took) {
    return Coalescer(window).pause(waited, took) / microseconds(1);
}

}  // namespace

BOOST_AUTO_TEST_CASE(iterations_are_a_window_apart_when_two_events_share_one) {
    BOOST_TEST(rest_us(microseconds(600), microseconds(0), microseconds(50)) == 550);
    BOOST_TEST(rest_us(microseconds(600), microseconds(300), microseconds(50)) == 550);
}

BOOST_AUTO_TEST_CASE(rare_events_are_passed_on_at_once) {
    BOOST_TEST(rest_us(microseconds(600), microseconds(301), microseconds(50)) == 0);
    BOOST_TEST(rest_us(microseconds(600), std::chrono::seconds(9), microseconds(50)) == 0);
}

BOOST_AUTO_TEST_CASE(an_iteration_as_long_as_a_window_gets_no_rest) {
    BOOST_TEST(rest_us(microseconds(600), microseconds(0), microseconds(600)) == 0);
    BOOST_TEST(rest_us(microseconds(600), microseconds(0), microseconds(5'000)) == 0);
}

BOOST_AUTO_TEST_CASE(a_window_of_zero_is_no_rest) {
    BOOST_TEST(rest_us(microseconds(0), microseconds(0), microseconds(0)) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
