#include "loadgen/outcome.h"

#include <boost/test/unit_test.hpp>
#include <set>
#include <string>

using namespace exa;
using namespace exa::loadgen;
using namespace std::chrono_literals;

namespace {

Outcome good() {
    Outcome outcome;
    outcome.ttft = 1s;
    outcome.gaps = 100;
    outcome.late_gaps = 1;
    return outcome;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(outcome)

BOOST_AUTO_TEST_CASE(one_late_gap_in_a_hundred_still_meets_the_objective_and_two_do_not) {
    const Slo slo;
    Outcome outcome = good();
    BOOST_TEST(slo.is_met(outcome));
    outcome.late_gaps = 2;
    BOOST_TEST(!slo.is_met(outcome));
    outcome.gaps = 99;
    outcome.late_gaps = 1;
    BOOST_TEST(!slo.is_met(outcome));
}

BOOST_AUTO_TEST_CASE(the_first_token_may_take_its_limit_and_no_more) {
    const Slo slo;
    Outcome outcome = good();
    outcome.ttft = 2s;
    BOOST_TEST(slo.is_met(outcome));
    outcome.ttft = 2s + 1us;
    BOOST_TEST(!slo.is_met(outcome));
    outcome.ttft.reset();
    BOOST_TEST(!slo.is_met(outcome));
}

BOOST_AUTO_TEST_CASE(a_failure_never_meets_it) {
    Outcome outcome = good();
    outcome.failure = Failure::reset;
    BOOST_TEST(!Slo().is_met(outcome));
}

BOOST_AUTO_TEST_CASE(every_kind_of_failure_has_a_name_of_its_own) {
    std::set<std::string> names;
    for (std::size_t kind = 0; kind < failure_kinds; ++kind) names.emplace(to_string(static_cast<Failure>(kind)));
    BOOST_TEST(names.size() == failure_kinds);
    BOOST_TEST(!names.contains("unknown"));
}

BOOST_AUTO_TEST_SUITE_END()
