#include "engine/adaptive_limit.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(adaptive_limit)

using namespace exa;
using engine::AdaptiveLimit;
using engine::LimitConfig;
using std::chrono::milliseconds;

namespace {

const LimitConfig quick{.between_tokens = milliseconds(100)};

// So many seconds in which each of `in_flight` requests gets a token every `between`.
void run(AdaptiveLimit& limit, TimePoint& now, int seconds, std::uint32_t in_flight, Duration between) {
    const TimePoint end = now + std::chrono::seconds(seconds);
    while (now < end) {
        now += between;
        for (std::uint32_t i = 0; i < in_flight; ++i) limit.handle_token(now, between, in_flight);
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(limit_grows_only_while_all_places_are_taken) {
    AdaptiveLimit limit(quick);
    TimePoint now{};
    run(limit, now, 60, 7, milliseconds(10));
    BOOST_TEST(limit.limit() == 8U);
    run(limit, now, 1, 8, milliseconds(10));
    BOOST_TEST(limit.limit() > 8U);
}

BOOST_AUTO_TEST_CASE(limit_doubles_until_it_was_late_and_then_adds_one) {
    AdaptiveLimit limit({.limit_max = 64, .between_tokens = milliseconds(100)});
    TimePoint now{};
    run(limit, now, 2, 8, milliseconds(10));
    BOOST_TEST(limit.limit() == 16U);
    while (limit.limit() < 64) run(limit, now, 1, limit.limit(), milliseconds(10));
    BOOST_TEST(limit.limit() == 64U);
    while (limit.limit() == 64) run(limit, now, 1, 64, milliseconds(150));
    BOOST_TEST(limit.limit() == 48U);
    // A window may still hold some that were late.
    run(limit, now, 1, 64, milliseconds(10));
    const std::uint32_t before = limit.limit();
    // Two windows a second.
    run(limit, now, 2, 64, milliseconds(10));
    BOOST_TEST(limit.limit() >= before + 3);
    BOOST_TEST(limit.limit() <= before + 4);
}

BOOST_AUTO_TEST_CASE(one_late_token_of_twenty_changes_nothing) {
    AdaptiveLimit limit(quick);
    TimePoint now{};
    for (int i = 0; i < 4'000; ++i) {
        now += milliseconds(5);
        limit.handle_token(now, i % 20 == 0 ? milliseconds(500) : milliseconds(50), 7);
    }
    BOOST_TEST(limit.limit() == 8U);
    for (int i = 0; i < 4'000; ++i) {
        now += milliseconds(5);
        limit.handle_token(now, i % 15 == 0 ? milliseconds(500) : milliseconds(50), 7);
    }
    BOOST_TEST(limit.limit() == 4U);
}

BOOST_AUTO_TEST_CASE(gaps_within_the_objective_do_not_lower_the_limit) {
    AdaptiveLimit limit({});
    TimePoint now{};
    run(limit, now, 60, 32, milliseconds(150));
    BOOST_TEST(limit.limit() == 32U);
    run(limit, now, 60, 32, milliseconds(260));
    BOOST_TEST(limit.limit() == 4U);
}

BOOST_AUTO_TEST_CASE(gaps_beside_a_piece_of_a_prompt_do_not_lower_the_limit) {
    for (const bool beside_prompt : {true, false}) {
        AdaptiveLimit limit(quick);
        TimePoint now{};
        for (int step = 0; step < 100; ++step) {
            now += milliseconds(200);
            for (int i = 0; i < 7; ++i) limit.handle_token(now, milliseconds(200), 7, beside_prompt);
        }
        BOOST_TEST(limit.limit() == (beside_prompt ? 8U : 4U));
    }
}

BOOST_AUTO_TEST_CASE(limit_keeps_its_bounds) {
    AdaptiveLimit limit(quick);
    TimePoint now{};
    run(limit, now, 60, 40, milliseconds(10));
    BOOST_TEST(limit.limit() == 32U);
    run(limit, now, 60, 32, milliseconds(500));
    BOOST_TEST(limit.limit() == 4U);
}

BOOST_AUTO_TEST_CASE(memory_given_back_lowers_the_limit) {
    AdaptiveLimit limit(quick);
    limit.handle_preemption(TimePoint{});
    BOOST_TEST(limit.limit() == 6U);
    limit.handle_preemption(TimePoint{});
    BOOST_TEST(limit.limit() == 5U);
    for (int i = 0; i < 10; ++i) limit.handle_preemption(TimePoint{});
    BOOST_TEST(limit.limit() == 4U);
}

BOOST_AUTO_TEST_CASE(limit_stays_where_no_time_is_asked_for) {
    AdaptiveLimit limit({.limit_max = 256, .between_tokens = Duration::zero()});
    TimePoint now{};
    BOOST_TEST(limit.limit() == 256U);
    run(limit, now, 10, 256, milliseconds(900));
    limit.handle_preemption(now);
    BOOST_TEST(limit.limit() == 256U);
}

BOOST_AUTO_TEST_CASE(lower_bound_never_exceeds_the_upper) {
    AdaptiveLimit limit({.limit_max = 2});
    TimePoint now{};
    BOOST_TEST(limit.limit() == 2U);
    run(limit, now, 10, 2, milliseconds(900));
    BOOST_TEST(limit.limit() == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
