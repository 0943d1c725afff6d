#include "router/breaker.h"

#include <boost/test/unit_test.hpp>

using namespace exa;
using namespace exa::router;
using namespace std::chrono_literals;

namespace {

constexpr TimePoint start{1'000s};

Breaker opened_at(TimePoint now) {
    Breaker breaker;
    for (int i = 0; i < 5; ++i) breaker.fail(now, Config());
    return breaker;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(breaker)

BOOST_AUTO_TEST_CASE(opens_at_the_fifth_failure_in_a_row) {
    Breaker breaker;
    for (int i = 0; i < 4; ++i) breaker.fail(start, Config());
    BOOST_TEST(breaker.allows(start));
    breaker.fail(start, Config());
    BOOST_TEST(breaker.is_open());
    BOOST_TEST(!breaker.allows(start));
}

BOOST_AUTO_TEST_CASE(a_success_in_between_starts_the_count_again) {
    Breaker breaker;
    for (int i = 0; i < 40; ++i) {
        breaker.fail(start, Config());
        if (i % 4 == 3) breaker.succeed();
    }
    BOOST_TEST(!breaker.is_open());
}

BOOST_AUTO_TEST_CASE(lets_one_probe_through_when_its_time_is_over) {
    Breaker breaker = opened_at(start);
    BOOST_TEST(!breaker.allows(start + 2s - 1us));
    BOOST_TEST(breaker.allows(start + 2s));
    BOOST_TEST(breaker.start());
    BOOST_TEST(!breaker.allows(start + 2s));
    breaker.succeed();
    BOOST_TEST(breaker.allows(start + 2s));
    BOOST_TEST(!breaker.start());
}

BOOST_AUTO_TEST_CASE(failed_probes_double_the_time_up_to_the_maximum) {
    Breaker breaker = opened_at(start);
    TimePoint now = start;
    for (const Duration open : {2s, 4s, 8s, 16s, 30s, 30s}) {
        BOOST_TEST(!breaker.allows(now + open - 1us));
        now += open;
        BOOST_TEST(breaker.allows(now));
        breaker.start();
        breaker.fail(now, Config());
    }
}

BOOST_AUTO_TEST_CASE(a_first_byte_ends_a_probe_but_is_no_success_while_closed) {
    Breaker breaker;
    for (int i = 0; i < 5; ++i) {
        breaker.answer();
        breaker.fail(start, Config());
    }
    BOOST_TEST(breaker.is_open());
    breaker.start();
    breaker.answer();
    BOOST_TEST(!breaker.is_open());
}

BOOST_AUTO_TEST_CASE(stragglers_that_fail_late_do_not_prolong_it) {
    Breaker breaker = opened_at(start);
    breaker.fail(start + 1s, Config());
    BOOST_TEST(breaker.allows(start + 2s));
}

BOOST_AUTO_TEST_CASE(a_probe_without_a_verdict_makes_room_for_another) {
    Breaker breaker = opened_at(start);
    breaker.start();
    breaker.release(false);
    BOOST_TEST(!breaker.allows(start + 2s));
    breaker.release(true);
    BOOST_TEST(breaker.allows(start + 2s));
    BOOST_TEST(breaker.is_open());
}

BOOST_AUTO_TEST_SUITE_END()
