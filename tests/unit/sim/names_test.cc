#include "sim/net/names.h"

#include <boost/test/unit_test.hpp>

#include "support/print.h"

using namespace exa;
using namespace exa::sim;

BOOST_AUTO_TEST_SUITE(names)

BOOST_AUTO_TEST_CASE(a_host_gets_what_its_fault_leaves_of_the_truth) {
    const Endpoint a = *parse_endpoint("10.0.0.1:1");
    const Endpoint b = *parse_endpoint("10.0.0.2:1");
    const Endpoint own = *parse_endpoint("10.0.0.9:1");
    Names names(2, {a, b});
    BOOST_TEST(names.look_up(0, own) == (std::vector{a, b}));
    names.set(0, NameFault::down);
    BOOST_TEST(names.look_up(0, own).empty());
    BOOST_TEST(names.look_up(1, own).size() == 2U);
    names.set(0, NameFault::itself);
    BOOST_TEST(names.look_up(0, own) == std::vector{own});
    names.set(0, NameFault::in_turn);
    BOOST_TEST(names.look_up(0, own) == std::vector{a});
    BOOST_TEST(names.look_up(0, own) == std::vector{b});
    names.set(0, NameFault::none);
    BOOST_TEST(names.look_up(0, own).size() == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
