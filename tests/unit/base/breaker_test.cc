#include "base/breaker.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

using namespace exa;
using namespace std::chrono_literals;

namespace {

constexpr TimePoint start{1'000s};
constexpr BreakerLimits limits{.failures = 5, .open = 2s, .open_max = 30s};

Breaker opened_at(TimePoint now) {
    Breaker breaker;
    for (int i = 0; i < 5; ++i) breaker.fail(now, limits);
    return breaker;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(breaker)

BOOST_AUTO_TEST_CASE(opens_at_the_fifth_failure_in_a_row) {
    Breaker breaker;
    for (int i = 0; i < 4; ++i) breaker.fail(start, limits);
    BOOST_TEST(breaker.allows(start));
    breaker.fail(start, limits);
    BOOST_TEST(breaker.is_open());
    BOOST_TEST(!breaker.allows(start));
}

BOOST_AUTO_TEST_CASE(a_success_in_between_starts_the_count_again) {
    Breaker breaker;
    for (int i = 0; i < 40; ++i) {
        breaker.fail(start, limits);
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
    BOOST_TEST(!breaker.allows(start + 24h));
    breaker.succeed();
    BOOST_TEST(breaker.allows(start + 2s));
    BOOST_TEST(!breaker.start());
}

BOOST_AUTO_TEST_CASE(failed_probes_double_the_time_up_to_the_maximum) {
    Breaker breaker = opened_at(start);
    TimePoint now = start;
    for (const Duration open : {2s, 4s, 8s, 16s, 30s, 30s}) {
        BOOST_TEST(breaker.open_for() == open);
        BOOST_TEST(!breaker.allows(now + open - 1us));
        now += open;
        BOOST_TEST(breaker.allows(now));
        breaker.start();
        breaker.fail(now, limits);
    }
}

BOOST_AUTO_TEST_CASE(a_first_byte_ends_a_probe_but_is_no_success_while_closed) {
    Breaker breaker;
    for (int i = 0; i < 5; ++i) {
        breaker.answer();
        breaker.fail(start, limits);
    }
    BOOST_TEST(breaker.is_open());
    breaker.start();
    breaker.answer();
    BOOST_TEST(!breaker.is_open());
}

BOOST_AUTO_TEST_CASE(a_late_failure_of_an_earlier_request_does_not_prolong_it) {
    Breaker breaker = opened_at(start);
    breaker.fail(start + 1s, limits);
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

BOOST_AUTO_TEST_CASE(a_probe_that_never_ends_makes_room_at_its_deadline) {
    Breaker breaker = opened_at(start);
    BOOST_TEST(breaker.start(start + 4s));
    BOOST_TEST(!breaker.allows(start + 4s - 1us));
    BOOST_TEST(breaker.allows(start + 4s));
    // The next one is a probe again, and its failure counts once.
    BOOST_TEST(breaker.start(start + 6s));
    breaker.fail(start + 5s, limits);
    breaker.fail(start + 5s, limits);
    BOOST_TEST(breaker.open_for() == 4s);
}

BOOST_AUTO_TEST_CASE(a_release_without_a_probe_under_way_does_not_close_the_wait) {
    Breaker breaker = opened_at(start);
    breaker.release(true);
    BOOST_TEST(!breaker.allows(start + 1s));
}

BOOST_AUTO_TEST_SUITE_END()
