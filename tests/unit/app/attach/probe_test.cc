#include "app/attach/probe.h"

#include <boost/test/unit_test.hpp>

#include "io/errc.h"

BOOST_AUTO_TEST_SUITE(attach_probe)

using namespace exa;
using namespace exa::app;
using namespace exa::app::attach;

namespace {

const Result<void> well = success();
const Result<void> refused = error(io::errc::connect_failed);
const Result<void> late = error(io::errc::timed_out);

}  // namespace

BOOST_AUTO_TEST_CASE(a_server_is_away_until_it_answers) {
    ProbeVerdict verdict;
    BOOST_TEST(!verdict.is_up());
    BOOST_TEST(!verdict.handle(refused));
    BOOST_TEST(verdict.handle(well));
    BOOST_TEST(verdict.is_up());
    BOOST_TEST(!verdict.handle(well));
}

BOOST_AUTO_TEST_CASE(one_that_refuses_is_away_at_once) {
    ProbeVerdict verdict;
    verdict.handle(well);
    BOOST_TEST(verdict.handle(refused));
    BOOST_TEST(!verdict.is_up());
}

BOOST_AUTO_TEST_CASE(one_that_is_late_has_a_second_chance) {
    ProbeVerdict verdict;
    verdict.handle(well);
    BOOST_TEST(!verdict.handle(late));
    BOOST_TEST(!verdict.handle(well));
    BOOST_TEST(!verdict.handle(late));
    BOOST_TEST(verdict.handle(late));
    BOOST_TEST(verdict.handle(well));
}

BOOST_AUTO_TEST_SUITE_END()
