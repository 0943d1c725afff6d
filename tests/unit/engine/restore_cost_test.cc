#include "engine/restore_cost.h"

#include <boost/test/unit_test.hpp>

using namespace exa;
using engine::RestoreCost;

namespace {

constexpr std::uint32_t tokens = 1'000;
constexpr std::uint64_t bytes = 1'000'000;

}  // namespace

BOOST_AUTO_TEST_SUITE(restore_cost)

BOOST_AUTO_TEST_CASE(what_has_not_been_measured_is_tried) {
    RestoreCost cost;
    BOOST_TEST(cost.is_worth(tokens, bytes));
    cost.handle_prefill(100, std::chrono::milliseconds(1));
    BOOST_TEST(cost.is_worth(tokens, bytes));
    BOOST_TEST(!cost.restore_time(bytes).has_value());
    BOOST_TEST(cost.prefill_time(tokens)->count() == 10'000);
}

BOOST_AUTO_TEST_CASE(the_sooner_of_the_two_wins) {
    RestoreCost cost;
    cost.handle_prefill(100, std::chrono::milliseconds(100));
    cost.handle_restore(bytes, std::chrono::milliseconds(999));
    BOOST_TEST(cost.is_worth(tokens, bytes));
    BOOST_TEST(!cost.is_worth(tokens, 2 * bytes));
    for (int i = 0; i < 40; ++i) cost.handle_restore(bytes, std::chrono::milliseconds(1'500));
    BOOST_TEST(!cost.is_worth(tokens, bytes));
    for (int i = 0; i < 40; ++i) cost.handle_prefill(100, std::chrono::milliseconds(200));
    BOOST_TEST(cost.is_worth(tokens, bytes));
}

BOOST_AUTO_TEST_CASE(now_and_then_the_slower_way_is_tried_again) {
    RestoreCost cost;
    cost.handle_prefill(100, std::chrono::milliseconds(1));
    cost.handle_restore(bytes, std::chrono::seconds(1));
    for (int round = 0; round < 2; ++round) {
        for (std::uint32_t i = 1; i < RestoreCost::try_anyway; ++i) BOOST_TEST(!cost.is_worth(tokens, bytes));
        BOOST_TEST(cost.is_worth(tokens, bytes));
    }
}

BOOST_AUTO_TEST_CASE(nothing_and_times_that_went_back_measure_nothing_bad) {
    RestoreCost cost;
    cost.handle_restore(0, std::chrono::seconds(1));
    BOOST_TEST(!cost.restore_time(1).has_value());
    cost.handle_restore(10, Duration(-5));
    BOOST_TEST(cost.restore_time(bytes)->count() == 0);
}

BOOST_AUTO_TEST_SUITE_END()
