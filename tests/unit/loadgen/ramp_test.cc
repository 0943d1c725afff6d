#include "loadgen/ramp.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

using namespace exa::loadgen;

namespace {

// A service that holds up to `capacity` and then fails a part of its requests.
StepResult serve(double rate, double capacity) {
    StepResult result;
    result.finished = 1000;
    result.met = rate <= capacity ? 1000 : 500;
    return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ramp)

BOOST_AUTO_TEST_CASE(the_knee_is_found_between_the_last_rate_that_held_and_the_first_that_did_not) {
    for (const double capacity : {3.0, 17.0, 250.0}) {
        Ramp ramp({.from = 1, .factor = 2, .rate_max = 1e6, .refinements = 6, .share = 0.99});
        while (ramp.judge(serve(ramp.rate(), capacity)) != Ramp::Next::end) {
        }
        BOOST_TEST_REQUIRE(ramp.knee().has_value());
        BOOST_TEST(*ramp.knee() <= capacity);
        BOOST_TEST(*ramp.broken() > capacity);
        BOOST_TEST(*ramp.broken() - *ramp.knee() <= capacity / 64 * 1.01);
        BOOST_TEST(ramp.steps().size() == static_cast<std::size_t>(std::floor(std::log2(capacity))) + 2 + 6);
    }
}

BOOST_AUTO_TEST_CASE(what_piled_up_in_a_broken_step_drains_before_the_next) {
    Ramp ramp({.from = 10, .factor = 2, .refinements = 3});
    BOOST_TEST(ramp.judge(serve(10, 30)) == Ramp::Next::step);
    BOOST_TEST(ramp.rate() == 20);
    BOOST_TEST(ramp.judge(serve(20, 30)) == Ramp::Next::step);
    BOOST_TEST(ramp.judge(serve(40, 30)) == Ramp::Next::drain);
    BOOST_TEST(ramp.rate() == 30);
    BOOST_TEST(ramp.judge(serve(30, 30)) == Ramp::Next::step);
    BOOST_TEST(ramp.rate() == 35);
}

BOOST_AUTO_TEST_CASE(requests_that_are_overdue_count_against_a_step) {
    Ramp ramp({.from = 10, .refinements = 0});
    BOOST_TEST(ramp.judge({.finished = 100, .met = 100, .overdue = 100}) == Ramp::Next::end);
    BOOST_TEST(!ramp.knee().has_value());
    BOOST_TEST(ramp.steps().front().attained == 0.5);
}

BOOST_AUTO_TEST_CASE(a_step_in_which_nothing_ended_is_not_judged) {
    Ramp ramp({});
    BOOST_TEST(ramp.judge({}) == Ramp::Next::longer);
    BOOST_TEST(ramp.steps().empty());
}

BOOST_AUTO_TEST_CASE(a_service_that_never_breaks_ends_at_the_highest_rate) {
    Ramp ramp({.from = 1, .factor = 10, .rate_max = 500});
    while (ramp.judge(serve(1, 1)) != Ramp::Next::end) {
    }
    BOOST_TEST(*ramp.knee() == 500);
    BOOST_TEST(!ramp.broken().has_value());
}

BOOST_AUTO_TEST_SUITE_END()
