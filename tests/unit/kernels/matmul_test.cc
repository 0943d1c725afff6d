#include <boost/test/unit_test.hpp>
#include <cstring>
#include <string>

#include "support/print.h"
#include "test_rows.h"

using namespace exa::kernels;
using namespace exa::kernels::test;

namespace {

// Whole numbers with a 127 in every block are held exactly, so that only the weights' own rounding is at work.
std::vector<float> exact_activations(exa::Rng& rng, std::size_t tokens, std::size_t cols) {
    std::vector<float> x(tokens * cols);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = i % block_cols == 7 ? 127.0F : static_cast<float>(rng.below(255)) - 127.0F;
    return x;
}

std::string describe(const Kernels& kernels, Format format) {
    return std::string(kernels.family) + " " + format_info(format)->name;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(matmul)

BOOST_AUTO_TEST_CASE(products_equal_those_of_the_decoded_weights) {
    constexpr std::size_t rows = 13;
    constexpr std::size_t cols = 512;
    constexpr std::size_t tokens = 7;
    for (const Kernels* kernels : families()) {
        for (const Format format : all_formats) {
            exa::Rng rng(5);
            const OwnedMatrix w(rng, format, rows, cols);
            const std::vector<float> x = exact_activations(rng, tokens, cols);
            const OwnedActivations in(*kernels, x, tokens, cols);
            std::vector<float> y(tokens * rows);
            kernels->matmul(w.matrix, in.view, tokens, y.data());

            std::vector<float> row(cols);
            for (std::size_t r = 0; r < rows; ++r) {
                dequantize_row(format, w.source.data() + r * row_bytes(format, cols), cols, row.data());
                for (std::size_t t = 0; t < tokens; ++t) {
                    double expected = 0;
                    double magnitude = 0;
                    for (std::size_t c = 0; c < cols; ++c) {
                        const double product = static_cast<double>(row[c]) * static_cast<double>(x[t * cols + c]);
                        expected += product;
                        magnitude += std::fabs(product);
                    }
                    const double found = static_cast<double>(y[t * rows + r]);
                    if (std::fabs(found - expected) > 1e-5 * magnitude)
                        BOOST_ERROR(describe(*kernels, format)
                                    << " row " << r << " token " << t << ": " << found << ", expected " << expected);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_token_alone_gives_the_bits_it_gives_in_company) {
    constexpr std::size_t rows = 21;
    for (const Kernels* kernels : families()) {
        for (const Format format : all_formats) {
            const std::size_t cols = is_quantized(layout_of(format)) ? 256 : 44;
            exa::Rng rng(6);
            const OwnedMatrix w(rng, format, rows, cols);
            for (std::size_t tokens = 1; tokens <= 9; ++tokens) {
                const std::vector<float> x = random_floats(rng, tokens * cols, 3);
                const OwnedActivations in(*kernels, x, tokens, cols);
                std::vector<float> together(tokens * rows);
                kernels->matmul(w.matrix, in.view, tokens, together.data());
                for (std::size_t t = 0; t < tokens; ++t) {
                    const std::vector<float> one(x.begin() + static_cast<std::ptrdiff_t>(t * cols),
                                                 x.begin() + static_cast<std::ptrdiff_t>((t + 1) * cols));
                    const OwnedActivations alone_in(*kernels, one, 1, cols);
                    std::vector<float> alone(rows);
                    kernels->matmul(w.matrix, alone_in.view, 1, alone.data());
                    BOOST_TEST(std::memcmp(alone.data(), &together[t * rows], rows * sizeof(float)) == 0,
                               describe(*kernels, format) << " token " << t << " of " << tokens);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(rows_before_and_behind_the_output_stay_untouched) {
    for (const Kernels* kernels : families()) {
        exa::Rng rng(7);
        const OwnedMatrix w(rng, Format::q4_1, 11, 64);
        const std::vector<float> x = random_floats(rng, 64);
        const OwnedActivations in(*kernels, x, 1, 64);
        std::vector<float> y(13, 42.0F);
        kernels->matmul(w.matrix, in.view, 1, y.data() + 1);
        BOOST_TEST(y.front() == 42.0F, kernels->family << ": " << y.front());
        BOOST_TEST(y.back() == 42.0F, kernels->family << ": " << y.back());
    }
}

BOOST_AUTO_TEST_CASE(padding_rows_of_the_last_tile_are_zero) {
    exa::Rng rng(8);
    const OwnedMatrix w(rng, Format::q8_0, 9, 32);
    // Row 1 of the second tile: its scale, then its bytes in every group of 4 columns.
    const std::uint8_t* tile = w.packed.data() + 272;
    BOOST_TEST(tile[2] == 0);
    BOOST_TEST(tile[3] == 0);
    for (std::size_t group = 0; group < 8; ++group)
        for (std::size_t i = 0; i < 4; ++i) BOOST_TEST(tile[16 + 32 * group + 4 + i] == 0);
}

BOOST_AUTO_TEST_SUITE_END()
