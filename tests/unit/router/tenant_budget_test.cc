#include "router/tenant_budget.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

using namespace exa;
using namespace exa::router;
using namespace std::chrono_literals;

namespace {

constexpr TimePoint start{1'000s};
constexpr std::int64_t day = 86'400'000'000;
constexpr WallTime noon{20'000 * day + day / 2};

TenantLimits limits(std::uint64_t requests, std::uint64_t tokens, std::uint64_t tokens_per_day = 0) {
    return {requests, tokens, tokens_per_day, 60};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tenant_budget)

BOOST_AUTO_TEST_CASE(requests_above_the_rate_wait_for_their_turn) {
    TenantBudget budget(limits(2, 0));
    BOOST_TEST(!budget.admit(start, noon, 1'000'000).has_value());
    BOOST_TEST(!budget.admit(start, noon, 1'000'000).has_value());
    const auto shortage = budget.admit(start, noon, 1);
    BOOST_TEST_REQUIRE(shortage.has_value());
    BOOST_TEST(shortage->what == Scarce::requests);
    BOOST_TEST(shortage->wait == 30s);
    BOOST_TEST(!budget.admit(start + 30s, noon, 1).has_value());
}

BOOST_AUTO_TEST_CASE(a_request_comes_in_while_tokens_are_left_and_the_answer_is_owed) {
    TenantBudget budget(limits(0, 600));
    BOOST_TEST(!budget.admit(start, noon, 599).has_value());
    BOOST_TEST(!budget.admit(start, noon, 1).has_value());
    budget.spend(start, noon, 300);
    const auto shortage = budget.admit(start, noon, 1);
    BOOST_TEST_REQUIRE(shortage.has_value());
    BOOST_TEST(shortage->what == Scarce::tokens);
    BOOST_TEST(shortage->wait == 30'100ms);
}

BOOST_AUTO_TEST_CASE(who_is_refused_for_tokens_loses_no_request) {
    TenantBudget budget(limits(1, 60));
    budget.spend(start, noon, 61);
    for (int i = 0; i < 3; ++i) BOOST_TEST(budget.admit(start, noon, 1)->what == Scarce::tokens);
    BOOST_TEST(!budget.admit(start + 2s, noon, 0).has_value());
    BOOST_TEST(budget.admit(start + 2s, noon, 0)->what == Scarce::requests);
}

BOOST_AUTO_TEST_CASE(a_quota_ends_with_the_day_of_utc) {
    TenantBudget budget(limits(0, 0, 100));
    BOOST_TEST(!budget.admit(start, noon, 40).has_value());
    budget.spend(start, noon, 60);
    const auto shortage = budget.admit(start, noon, 1);
    BOOST_TEST_REQUIRE(shortage.has_value());
    BOOST_TEST(shortage->what == Scarce::quota);
    BOOST_TEST(shortage->wait == 12h);
    BOOST_TEST(budget.day_use() == (DayUse{20'000, 100}));
    const WallTime midnight{noon.unix_us + day / 2};
    BOOST_TEST(!budget.admit(start, midnight, 1).has_value());
}

BOOST_AUTO_TEST_CASE(a_clock_set_back_gives_no_second_day) {
    TenantBudget budget(limits(0, 0, 100));
    budget.spend(start, noon, 100);
    BOOST_TEST(budget.admit(start, WallTime{noon.unix_us - day}, 1).has_value());
    BOOST_TEST(budget.admit(start, noon, 1).has_value());
}

BOOST_AUTO_TEST_CASE(use_of_before_counts_on_its_own_day_only) {
    TenantBudget budget(limits(0, 0, 100));
    budget.add_use({20'000, 60});
    BOOST_TEST(!budget.admit(start, noon, 30).has_value());
    budget.add_use({20'000, 10});
    budget.add_use({19'999, 10});
    BOOST_TEST(budget.day_use() == (DayUse{20'000, 100}));
    BOOST_TEST(budget.admit(start, noon, 1)->what == Scarce::quota);
    BOOST_TEST(!budget.admit(start, WallTime{noon.unix_us + day}, 1).has_value());
}

BOOST_AUTO_TEST_CASE(other_limits_begin_rested_and_keep_what_the_day_used) {
    TenantBudget budget(limits(1, 0, 100));
    BOOST_TEST(!budget.admit(start, noon, 90).has_value());
    budget.set_limits(limits(1, 0, 100));
    BOOST_TEST(budget.admit(start, noon, 1)->what == Scarce::requests);
    budget.set_limits(limits(2, 0, 100));
    BOOST_TEST(!budget.admit(start, noon, 10).has_value());
    BOOST_TEST(budget.admit(start, noon, 1)->what == Scarce::quota);
}

BOOST_AUTO_TEST_SUITE_END()
