#include <boost/test/unit_test.hpp>
#include <cstring>
#include <limits>

#include "support/print.h"
#include "test_rows.h"

using namespace exa::kernels;
using namespace exa::kernels::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

}  // namespace

BOOST_AUTO_TEST_SUITE(ops)

BOOST_AUTO_TEST_CASE(quantised_activations_are_within_half_a_step) {
    exa::Rng rng(1);
    std::vector<float> x = random_floats(rng, 4 * block_cols, 5);
    for (std::size_t i = block_cols; i < 2 * block_cols; ++i) x[i] *= 1e-4F;
    for (const Kernels* kernels : families()) {
        const OwnedActivations in(*kernels, x, 2, 2 * block_cols);
        for (std::size_t b = 0; b < 4; ++b) {
            double sum = 0;
            for (std::size_t i = b * block_cols; i < (b + 1) * block_cols; ++i) {
                BOOST_TEST(in.low[i] >= -64);
                BOOST_TEST(in.low[i] < 64);
                const float value = in.scale[b] * static_cast<float>(128 * in.high[i] + in.low[i]);
                BOOST_TEST(std::fabs(value - x[i]) <= in.scale[b] * 0.502F, kernels->family);
                sum += static_cast<double>(value);
            }
            BOOST_TEST(std::fabs(static_cast<double>(in.sum[b]) - sum) <= 1e-3 * (1 + std::fabs(sum)));
        }
    }
}

BOOST_AUTO_TEST_CASE(all_families_quantise_to_the_same_bits) {
    exa::Rng rng(2);
    std::vector<float> x = random_floats(rng, 64 * block_cols, 100);
    std::fill_n(x.begin(), block_cols, 0.0F);
    x[block_cols] = 1e-38F;
    const OwnedActivations expected(portable_kernels(), x, 1, x.size());
    const OwnedActivations found(best_kernels(), x, 1, x.size());
    BOOST_TEST(found.high == expected.high, boost::test_tools::per_element());
    BOOST_TEST(found.low == expected.low, boost::test_tools::per_element());
    BOOST_TEST(found.scale == expected.scale, boost::test_tools::per_element());
    BOOST_TEST(found.sum == expected.sum, boost::test_tools::per_element());
    BOOST_TEST(found.scale[0] == 0.0F);
}

BOOST_AUTO_TEST_CASE(a_number_that_is_none_spoils_its_own_block_only) {
    for (const float bad : {std::nanf(""), infinity, -infinity}) {
        for (const Kernels* kernels : families()) {
            std::vector<float> x(2 * block_cols, 1.0F);
            x[5] = bad;
            const OwnedActivations in(*kernels, x, 1, x.size());
            BOOST_TEST(std::isnan(in.scale[0]), kernels->family);
            BOOST_TEST(in.scale[1] > 0.0F, kernels->family);
        }
    }
}

BOOST_AUTO_TEST_CASE(rms_norm_makes_the_mean_square_one) {
    exa::Rng rng(3);
    constexpr std::size_t cols = 75;
    const std::vector<float> x = random_floats(rng, 2 * cols, 20);
    const std::vector<float> weight(cols, 0.5F);
    for (const Kernels* kernels : families()) {
        std::vector<float> y(2 * cols);
        kernels->rms_norm(x.data(), weight.data(), 1e-6F, 2, cols, y.data());
        for (std::size_t t = 0; t < 2; ++t) {
            double squares = 0;
            for (std::size_t c = 0; c < cols; ++c) squares += std::pow(static_cast<double>(y[t * cols + c]), 2);
            BOOST_TEST(std::fabs(squares / cols - 0.25) < 1e-5, kernels->family);
        }
        BOOST_TEST((y[3] > 0) == (x[3] > 0));
    }
}

BOOST_AUTO_TEST_CASE(silu_follows_its_formula_over_the_whole_range) {
    std::vector<float> gates;
    for (double g = -120; g <= 120; g += 0.0917) gates.push_back(static_cast<float>(g));
    gates.insert(gates.end(), {0.0F, -0.0F, -1e30F, 1e30F});
    const std::vector<float> up(gates.size(), 3.0F);
    for (const Kernels* kernels : families()) {
        std::vector<float> y = gates;
        kernels->silu_mul(y.data(), up.data(), y.size());
        for (std::size_t i = 0; i < y.size(); ++i) {
            const double g = static_cast<double>(gates[i]);
            const double expected = 3.0 * g / (1.0 + std::exp(-g));
            if (std::fabs(static_cast<double>(y[i]) - expected) > 1e-6 * std::fabs(expected) + 1e-30)
                BOOST_ERROR(kernels->family << " silu(" << g << ") = " << y[i] << ", expected " << expected);
        }
    }
}

BOOST_AUTO_TEST_CASE(silu_of_an_element_ignores_where_the_row_ends) {
    exa::Rng rng(4);
    const std::vector<float> gate = random_floats(rng, 16, 8);
    const std::vector<float> up = random_floats(rng, 16, 8);
    for (const Kernels* kernels : families()) {
        std::vector<float> whole = gate;
        kernels->silu_mul(whole.data(), up.data(), 16);
        for (std::size_t n = 1; n < 16; ++n) {
            std::vector<float> part = gate;
            kernels->silu_mul(part.data(), up.data(), n);
            BOOST_TEST(std::memcmp(part.data(), whole.data(), n * sizeof(float)) == 0);
            BOOST_TEST(part[n] == gate[n]);
        }
    }
}

BOOST_AUTO_TEST_CASE(add_adds_every_element) {
    for (const Kernels* kernels : families()) {
        std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
        const std::vector<float> y{9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
        kernels->add(x.data(), y.data(), 10);
        BOOST_TEST(x == std::vector<float>(10, 10.0F), boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(rope_turns_neighbours_or_halves_by_the_angle) {
    const float cos[] = {0.0F, 1.0F};
    const float sin[] = {1.0F, 0.0F};
    std::vector<float> x{1, 2, 3, 4, 5};
    rope(x.data(), 1, 5, cos, sin, 2, true);
    BOOST_TEST(x == (std::vector<float>{-2, 1, 3, 4, 5}), boost::test_tools::per_element());
    x = {1, 2, 3, 4, 5};
    rope(x.data(), 1, 5, cos, sin, 2, false);
    BOOST_TEST(x == (std::vector<float>{-3, 2, 1, 4, 5}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
