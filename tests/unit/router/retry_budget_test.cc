#include "router/retry_budget.h"

#include <boost/test/unit_test.hpp>

using namespace exa::router;

namespace {

Config small() {
    Config config;
    config.retry_burst = 10;
    config.retry_ratio_percent = 20;
    return config;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(retry_budget)

BOOST_AUTO_TEST_CASE(failures_may_spend_the_burst_and_then_one_retry_in_five_requests) {
    RetryBudget budget(small());
    for (int i = 0; i < 10; ++i) BOOST_TEST(budget.spend_on_failure());
    BOOST_TEST(!budget.spend_on_failure());
    for (int i = 0; i < 4; ++i) budget.earn();
    BOOST_TEST(!budget.spend_on_failure());
    budget.earn();
    BOOST_TEST(budget.spend_on_failure());
    BOOST_TEST(!budget.spend_on_failure());
}

BOOST_AUTO_TEST_CASE(busy_answers_leave_the_lower_half_to_failures) {
    RetryBudget budget(small());
    for (int i = 0; i < 5; ++i) BOOST_TEST(budget.spend_on_busy());
    BOOST_TEST(!budget.spend_on_busy());
    for (int i = 0; i < 5; ++i) BOOST_TEST(budget.spend_on_failure());
    BOOST_TEST(!budget.spend_on_failure());
}

BOOST_AUTO_TEST_CASE(no_more_than_the_burst_is_saved_up) {
    RetryBudget budget(small());
    for (int i = 0; i < 1'000; ++i) budget.earn();
    for (int i = 0; i < 10; ++i) BOOST_TEST(budget.spend_on_failure());
    BOOST_TEST(!budget.spend_on_failure());
}

BOOST_AUTO_TEST_SUITE_END()
