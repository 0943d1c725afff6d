#include "sim/scenarios/random_scenario.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "sim/scenarios/scenario.h"

using namespace exa;
using namespace exa::sim;

BOOST_AUTO_TEST_SUITE(random_scenario_)

BOOST_AUTO_TEST_CASE(every_number_is_a_scenario_that_parses_and_stays_the_same) {
    std::set<FaultKind> kinds;
    std::set<std::uint32_t> sizes;
    for (std::uint64_t number = 0; number < 500; ++number) {
        const std::string text = random_scenario(number);
        BOOST_TEST(text == random_scenario(number));
        const auto parsed = parse_scenario("random", text, {});
        BOOST_TEST_CONTEXT(text << (parsed ? "" : parsed.error().detail)) {
            BOOST_REQUIRE(parsed.has_value());
        }
        BOOST_TEST(!parsed.value().plan.empty());
        for (const Fault& fault : parsed.value().plan) kinds.insert(fault.kind);
        sizes.insert(parsed.value().cluster.peers);
    }
    BOOST_TEST(kinds.size() >= 20U);
    BOOST_TEST(sizes.size() >= 10U);
}

BOOST_AUTO_TEST_SUITE_END()
