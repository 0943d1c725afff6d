#include "base/rng.h"
#include "support/print.h"

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <vector>

using exa::Rng;

BOOST_AUTO_TEST_SUITE(rng)

// Simulations replay by seed, on any machine.
BOOST_AUTO_TEST_CASE(sequences_are_fixed_by_the_seed) {
    std::uint64_t state = 1'234'567;
    for (const std::uint64_t expected : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u})
        BOOST_TEST(exa::splitmix64(state) == expected);
    Rng rng(42);
    for (const std::uint64_t expected :
         {1546998764402558742u, 6990951692964543102u, 12544586762248559009u, 17057574109182124193u})
        BOOST_TEST(rng.next() == expected);
}

BOOST_AUTO_TEST_CASE(below_stays_below_and_reaches_everything_evenly) {
    Rng rng(1);
    std::array<int, 7> hits{};
    for (int i = 0; i < 70'000; ++i) {
        const std::uint64_t drawn = rng.below(7);
        BOOST_TEST_REQUIRE(drawn < 7);
        ++hits[drawn];
    }
    for (const int count : hits) {
        BOOST_TEST(count > 9'600);
        BOOST_TEST(count < 10'400);
    }
    for (int i = 0; i < 100; ++i) BOOST_TEST(rng.below(1) == 0u);
}

// With 3/4 of the range the plain remainder would hit the lower third twice as often.
BOOST_AUTO_TEST_CASE(below_is_unbiased_at_bounds_that_do_not_divide_the_range) {
    Rng rng(2);
    const std::uint64_t bound = std::uint64_t{3} << 62;
    int lower_third = 0;
    for (int i = 0; i < 30'000; ++i) lower_third += rng.below(bound) < bound / 3;
    BOOST_TEST(lower_third > 9'600);
    BOOST_TEST(lower_third < 10'400);
}

BOOST_AUTO_TEST_CASE(unit_is_in_the_half_open_interval_with_the_right_mean) {
    Rng rng(3);
    double sum = 0;
    for (int i = 0; i < 100'000; ++i) {
        const double drawn = rng.unit();
        BOOST_TEST_REQUIRE(drawn >= 0.0);
        BOOST_TEST_REQUIRE(drawn < 1.0);
        sum += drawn;
    }
    BOOST_TEST(sum / 100'000 > 0.495);
    BOOST_TEST(sum / 100'000 < 0.505);
}

BOOST_AUTO_TEST_CASE(shuffle_keeps_the_items_and_puts_each_anywhere) {
    Rng rng(4);
    std::array<int, 5> first{};
    for (int round = 0; round < 5'000; ++round) {
        std::vector<int> items{0, 1, 2, 3, 4};
        rng.shuffle(std::span(items));
        ++first[static_cast<std::size_t>(items.front())];
        std::ranges::sort(items);
        BOOST_TEST_REQUIRE(items == (std::vector<int>{0, 1, 2, 3, 4}));
    }
    for (const int count : first) {
        BOOST_TEST(count > 880);
        BOOST_TEST(count < 1'120);
    }
    std::vector<int> none;
    rng.shuffle(std::span(none));
    BOOST_TEST(none.empty());
}

BOOST_AUTO_TEST_SUITE_END()
