#include "app/pace.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(pace)

using namespace exa;
using namespace exa::app;
using std::chrono::microseconds;

namespace {

std::int64_t rest_us(microseconds spell, microseconds waited, microseconds took) {
    return Pace(spell).rest(waited, took) / microseconds(1);
}

}  // namespace

BOOST_AUTO_TEST_CASE(turns_begin_a_spell_apart_when_two_events_come_in_one) {
    BOOST_TEST(rest_us(microseconds(600), microseconds(0), microseconds(50)) == 550);
    BOOST_TEST(rest_us(microseconds(600), microseconds(300), microseconds(50)) == 550);
}

BOOST_AUTO_TEST_CASE(nobody_rests_when_events_are_seldom) {
    BOOST_TEST(rest_us(microseconds(600), microseconds(301), microseconds(50)) == 0);
    BOOST_TEST(rest_us(microseconds(600), std::chrono::seconds(9), microseconds(50)) == 0);
}

BOOST_AUTO_TEST_CASE(a_turn_that_took_a_spell_is_followed_at_once) {
    BOOST_TEST(rest_us(microseconds(600), microseconds(0), microseconds(600)) == 0);
    BOOST_TEST(rest_us(microseconds(600), microseconds(0), microseconds(5'000)) == 0);
}

BOOST_AUTO_TEST_CASE(a_spell_of_zero_is_no_rest) {
    BOOST_TEST(rest_us(microseconds(0), microseconds(0), microseconds(0)) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
