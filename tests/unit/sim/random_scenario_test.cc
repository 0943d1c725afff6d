#include "sim/scenarios/random_scenario.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "sim/scenarios/scenario.h"
#include "support/print.h"

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

BOOST_AUTO_TEST_CASE(the_kv_mix_tries_the_cache_in_every_scenario_and_draws_each_of_its_faults) {
    std::set<std::string_view> kinds;
    for (std::uint64_t number = 0; number < 200; ++number) {
        const auto parsed = parse_scenario("random-kv", random_scenario(number, RandomMix::kv), {});
        BOOST_TEST_REQUIRE(parsed.has_value());
        BOOST_TEST(parsed.value().kv.rate > 0);
        for (const Fault& fault : parsed.value().plan) kinds.insert(to_string(fault.kind));
    }
    for (const std::string_view kind : faults_of(RandomMix::kv)) BOOST_TEST(kinds.contains(kind), kind);
}

BOOST_AUTO_TEST_CASE(every_line_that_narrows_is_wide_again_in_the_end) {
    std::size_t lines = 0;
    for (const RandomMix mix : {RandomMix::all, RandomMix::kv}) {
        for (std::uint64_t number = 0; number < 1000; ++number) {
            const auto parsed = parse_scenario("random", random_scenario(number, mix), {});
            BOOST_TEST_REQUIRE(parsed.has_value());
            for (const Fault& fault : parsed.value().plan) {
                if (fault.kind != FaultKind::bandwidth) continue;
                ++lines;
                BOOST_TEST(fault.at + fault.every * (fault.times - 1) + fault.lasts <= parsed.value().duration);
            }
        }
    }
    BOOST_TEST(lines > 100U);
}

BOOST_AUTO_TEST_SUITE_END()
