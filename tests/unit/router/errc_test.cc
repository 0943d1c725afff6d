#include "router/errc.h"

#include <boost/test/unit_test.hpp>
#include <set>
#include <string>

#include "base/result.h"
#include "support/print.h"

using exa::router::errc;

BOOST_AUTO_TEST_SUITE(errc_suite)

BOOST_AUTO_TEST_CASE(every_code_has_a_message_of_its_own) {
    std::set<std::string> messages;
    for (int code = 1; code <= 10; ++code) messages.insert(make_error_code(static_cast<errc>(code)).message());
    BOOST_TEST(messages.size() == 10u);
    BOOST_TEST(messages.count("unknown router error") == 0u);
    BOOST_TEST(make_error_code(static_cast<errc>(11)).message() == "unknown router error");
}

BOOST_AUTO_TEST_CASE(statuses_are_those_a_client_retries_or_gives_up_on) {
    BOOST_TEST(http_status(errc::model_not_found) == 404);
    BOOST_TEST(http_status(errc::context_too_long) == 400);
    BOOST_TEST(http_status(errc::no_replica_ready) == 503);
    BOOST_TEST(http_status(errc::all_replicas_busy) == 503);
    BOOST_TEST(http_status(errc::replicas_draining) == 503);
    BOOST_TEST(http_status(errc::out_of_reach) == 503);
    BOOST_TEST(http_status(errc::upstream_failed) == 502);
    BOOST_TEST(http_status(errc::upstream_timeout) == 504);
}

BOOST_AUTO_TEST_CASE(errors_carry_code_and_detail) {
    const exa::Error error = exa::error(errc::model_not_found, "model 'x'");
    BOOST_TEST(error.code == errc::model_not_found);
    BOOST_TEST(error.message() == "model 'x': the model does not exist in this cluster");
}

BOOST_AUTO_TEST_SUITE_END()
