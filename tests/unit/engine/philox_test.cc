#include "engine/philox.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>

using namespace exa::engine;

BOOST_AUTO_TEST_SUITE(philox_draws)

// The known answers its authors publish with the reference implementation (Random123, kat_vectors).
BOOST_AUTO_TEST_CASE(blocks_equal_the_published_vectors) {
    BOOST_TEST(philox({0, 0, 0, 0}, {0, 0}) == (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}),
               boost::test_tools::per_element());
    BOOST_TEST(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
                   (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}),
               boost::test_tools::per_element());
    BOOST_TEST(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
                   (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(uniform_is_a_function_of_seed_and_position) {
    BOOST_TEST(uniform(1, 2) == uniform(1, 2));
    std::set<double> seen;
    for (std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32, ~std::uint64_t{0}})
        for (std::uint64_t position = 0; position < 1000; ++position) seen.insert(uniform(seed, position));
    BOOST_TEST(seen.size() == 4000U);
}

BOOST_AUTO_TEST_CASE(uniform_fills_the_unit_interval_evenly) {
    constexpr int draws = 20'000;
    int buckets[10] = {};
    for (std::uint64_t i = 0; i < draws; ++i) {
        const double u = uniform(7, i);
        BOOST_TEST_REQUIRE(u >= 0);
        BOOST_TEST_REQUIRE(u < 1);
        ++buckets[static_cast<int>(u * 10)];
    }
    // Five standard deviations of a binomial count.
    for (const int count : buckets) BOOST_TEST(std::abs(count - draws / 10) < 5 * std::sqrt(draws * 0.09));
}

BOOST_AUTO_TEST_SUITE_END()
