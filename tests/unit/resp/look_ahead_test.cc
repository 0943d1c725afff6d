#include "resp/look_ahead.h"

#include <boost/test/unit_test.hpp>

using exa::resp::LookAhead;

BOOST_AUTO_TEST_SUITE(look_ahead)

BOOST_AUTO_TEST_CASE(full_batches_of_small_values_double_up_to_a_bound) {
    LookAhead look_ahead;
    BOOST_TEST(look_ahead.gets_max() == 1u);
    for (int i = 0; i < 20; ++i) look_ahead.record(look_ahead.gets_max(), 1000);
    BOOST_TEST(look_ahead.gets_max() == LookAhead::most);
}

BOOST_AUTO_TEST_CASE(batches_that_were_not_full_change_nothing) {
    LookAhead look_ahead;
    look_ahead.record(1, 0);
    look_ahead.record(1, 0);
    BOOST_TEST(look_ahead.gets_max() == 2u);
}

BOOST_AUTO_TEST_CASE(large_values_are_looked_up_one_by_one_in_the_end) {
    LookAhead look_ahead;
    for (int i = 0; i < 8; ++i) look_ahead.record(look_ahead.gets_max(), 1000);
    for (int i = 0; i < 8; ++i) look_ahead.record(look_ahead.gets_max(), LookAhead::bytes_wanted + 1);
    BOOST_TEST(look_ahead.gets_max() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
