#include "kv/breaker.h"

#include <boost/test/unit_test.hpp>

using namespace exa;
using namespace exa::kv;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr TimePoint at(Duration since) {
    return TimePoint(since);
}

Breaker opened() {
    Breaker breaker;
    breaker.failed(at(seconds{1}));
    breaker.failed(at(seconds{1}));
    breaker.failed(at(seconds{1}));
    return breaker;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(breaker)

BOOST_AUTO_TEST_CASE(it_opens_with_the_third_failure_in_a_row) {
    Breaker breaker;
    for (int round = 0; round < 3; ++round) {
        BOOST_TEST(!breaker.failed(at(seconds{1})));
        BOOST_TEST(!breaker.failed(at(seconds{1})));
        BOOST_TEST(!breaker.succeeded());
    }
    BOOST_TEST(breaker.allows(at(seconds{1})));
    BOOST_TEST(!breaker.failed(at(seconds{1})));
    BOOST_TEST(!breaker.failed(at(seconds{1})));
    BOOST_TEST(breaker.failed(at(seconds{1})));
    BOOST_TEST(breaker.is_open());
    BOOST_TEST(!breaker.allows(at(seconds{1})));
}

BOOST_AUTO_TEST_CASE(one_thing_is_tried_after_each_wait_and_a_success_closes_it) {
    Breaker breaker = opened();
    BOOST_TEST(!breaker.allows(at(milliseconds{1999})));
    BOOST_TEST(breaker.allows(at(seconds{2})));
    BOOST_TEST(!breaker.allows(at(seconds{2})));
    BOOST_TEST(breaker.allows(at(seconds{3})));
    BOOST_TEST(breaker.succeeded());
    BOOST_TEST(!breaker.is_open());
    BOOST_TEST(breaker.allows(at(seconds{3})));
}

BOOST_AUTO_TEST_CASE(a_wait_doubles_with_each_failed_try_up_to_its_bound_and_by_nothing_else) {
    Breaker breaker = opened();
    TimePoint now = at(seconds{2});
    Duration wait = seconds{1};
    for (int round = 0; round < 10; ++round) {
        BOOST_TEST(breaker.allows(now));
        breaker.failed(now);
        wait = std::min<Duration>(2 * wait, seconds{60});
        // Of before it opened.
        breaker.failed(now);
        BOOST_TEST(!breaker.allows(now + wait - Duration{1}));
        now += wait;
    }
    BOOST_TEST((wait == seconds{60}));
}

BOOST_AUTO_TEST_SUITE_END()
