#include "gateway/outcome.h"

#include <boost/test/unit_test.hpp>

#include "support/print.h"

using namespace exa;
using namespace exa::gateway;

BOOST_AUTO_TEST_SUITE(gateway_outcome)

BOOST_AUTO_TEST_CASE(each_end_of_a_reply_has_its_outcome) {
    BOOST_TEST(outcome_of(wire::EndCode::ok) == Outcome::finished);
    BOOST_TEST(outcome_of(wire::EndCode::busy) == Outcome::busy);
    BOOST_TEST(outcome_of(wire::EndCode::deadline) == Outcome::no_permit);
    BOOST_TEST(outcome_of(wire::EndCode::too_long) == Outcome::unfit);
    BOOST_TEST(outcome_of(wire::EndCode::failed) == Outcome::failed);
}

BOOST_AUTO_TEST_CASE(a_replica_that_stops_counts_as_draining) {
    BOOST_TEST(outcome_of(wire::EndCode::draining) == Outcome::draining);
    BOOST_TEST(outcome_of(wire::EndCode::cancelled) == Outcome::draining);
}

BOOST_AUTO_TEST_CASE(the_wrong_replica_refuses) {
    BOOST_TEST(outcome_of(wire::EndCode::not_found) == Outcome::refused);
    BOOST_TEST(outcome_of(wire::EndCode::wrong_version) == Outcome::refused);
    BOOST_TEST(outcome_of(wire::EndCode::not_supported) == Outcome::refused);
}

BOOST_AUTO_TEST_SUITE_END()
