#include "gateway/admission.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(gateway_admission)

using namespace exa;
using namespace exa::gateway;
using namespace std::chrono_literals;

namespace {

constexpr TimePoint start{1000s};

engine::WaitTerms until(TimePoint deadline) {
    return {.tokens = 10, .deadline = deadline};
}

}  // namespace

BOOST_AUTO_TEST_CASE(no_more_permits_than_the_limit) {
    Admission admission(2, {});
    BOOST_TEST(admission.try_acquire());
    BOOST_TEST(admission.try_acquire());
    BOOST_TEST(!admission.try_acquire());
    admission.release();
    BOOST_TEST(admission.try_acquire());
}

BOOST_AUTO_TEST_CASE(a_released_permit_goes_to_the_queue_before_a_newcomer) {
    Admission admission(1, {});
    BOOST_TEST(admission.try_acquire());
    const auto waiting = admission.wait(start, until(start + 1s));
    BOOST_REQUIRE(waiting.has_value());
    BOOST_TEST(!admission.granted(start).has_value());
    admission.release();
    BOOST_TEST(!admission.try_acquire());
    BOOST_TEST(admission.granted(start) == waiting.value().ticket);
    BOOST_TEST(admission.taken() == 1U);
    BOOST_TEST(!admission.granted(start).has_value());
}

BOOST_AUTO_TEST_CASE(who_waits_past_the_deadline_gets_none) {
    Admission admission(1, {});
    BOOST_TEST(admission.try_acquire());
    const auto waiting = admission.wait(start, until(start + 1s));
    BOOST_TEST(admission.next_deadline() == start + 1s);
    admission.release();
    BOOST_TEST(!admission.granted(start + 1s).has_value());
    BOOST_TEST(admission.expire(start + 1s).size() == 1U);
    BOOST_TEST(!admission.leave(waiting.value().ticket));
    BOOST_TEST(admission.try_acquire());
}

BOOST_AUTO_TEST_CASE(a_higher_limit_is_for_those_that_wait_first) {
    Admission admission(1, {});
    BOOST_TEST(admission.try_acquire());
    const auto waiting = admission.wait(start, until(time_never));
    admission.set_limit(2);
    BOOST_TEST(admission.granted(start) == waiting.value().ticket);
    admission.set_limit(1);
    admission.release();
    BOOST_TEST(!admission.try_acquire(), "one is still taken");
}

BOOST_AUTO_TEST_SUITE_END()
