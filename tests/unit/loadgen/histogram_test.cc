#include "loadgen/histogram.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "base/rng.h"

using namespace exa;
using namespace exa::loadgen;

namespace {

std::uint64_t exact_percentile(std::vector<std::uint64_t> values, double share) {
    std::ranges::sort(values);
    const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
    return values[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace

BOOST_AUTO_TEST_SUITE(histogram)

BOOST_AUTO_TEST_CASE(percentiles_are_within_the_stated_error_and_never_below_the_true_ones) {
    for (const unsigned digits : {6U, 11U}) {
        Rng rng(digits);
        Histogram histogram(digits);
        std::vector<std::uint64_t> values;
        for (int i = 0; i < 5000; ++i) {
            values.push_back(rng.next() >> (24 + rng.below(38)));
            histogram.add(values.back());
        }
        for (const double share : {0.0, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
            const std::uint64_t exact = exact_percentile(values, share);
            BOOST_TEST(histogram.percentile(share) >= exact);
            BOOST_TEST(histogram.percentile(share) <= exact + (exact >> (digits - 1)));
        }
        BOOST_TEST(histogram.min() == *std::ranges::min_element(values));
        BOOST_TEST(histogram.max() == *std::ranges::max_element(values));
    }
}

BOOST_AUTO_TEST_CASE(small_values_are_exact) {
    Histogram histogram;
    for (std::uint64_t value = 1; value <= 100; ++value) histogram.add(value);
    BOOST_TEST(histogram.percentile(0.5) == 50u);
    BOOST_TEST(histogram.percentile(0.99) == 99u);
    BOOST_TEST(histogram.percentile(0.999) == 100u);
    BOOST_TEST(histogram.mean() == 50.5);
}

BOOST_AUTO_TEST_CASE(buckets_tile_the_numbers_without_gap_or_overlap) {
    Histogram histogram(4);
    for (std::uint64_t value = 0; value < 4096; ++value) histogram.add(value);
    std::uint64_t expected_low = 0;
    std::uint64_t count = 0;
    for (const auto& bucket : histogram.buckets()) {
        BOOST_TEST(bucket.low == expected_low);
        BOOST_TEST(bucket.count == bucket.high - bucket.low + 1);
        expected_low = bucket.high + 1;
        count += bucket.count;
    }
    BOOST_TEST(expected_low == 4096u);
    BOOST_TEST(count == histogram.count());
}

BOOST_AUTO_TEST_CASE(merging_is_the_same_as_adding_to_one) {
    Rng rng(3);
    Histogram one;
    Histogram left;
    Histogram right;
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t value = rng.below(1'000'000);
        one.add(value);
        (i % 3 == 0 ? left : right).add(value);
    }
    left.merge(right);
    BOOST_TEST(left.count() == one.count());
    BOOST_TEST(left.mean() == one.mean(), boost::test_tools::tolerance(1e-12));
    for (const double share : {0.1, 0.5, 0.99}) BOOST_TEST(left.percentile(share) == one.percentile(share));
}

BOOST_AUTO_TEST_CASE(an_empty_one_is_all_zeros) {
    const Histogram histogram;
    BOOST_TEST(histogram.percentile(0.5) == 0u);
    BOOST_TEST(histogram.min() == 0u);
    BOOST_TEST(histogram.max() == 0u);
    BOOST_TEST(histogram.mean() == 0);
    BOOST_TEST(histogram.buckets().empty());
}

BOOST_AUTO_TEST_CASE(a_value_beyond_the_range_counts_as_the_largest) {
    Histogram histogram;
    histogram.add(~std::uint64_t{0});
    BOOST_TEST(histogram.max() == Histogram::value_max);
    BOOST_TEST(histogram.percentile(0.5) == Histogram::value_max);
}

BOOST_AUTO_TEST_SUITE_END()
