#include "kernels/format.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

using namespace exa::kernels;

namespace {

// What the reference implementation of the format (the gguf Python package) makes of the same bytes: six values, and
// the sum of value * (index + 1).
struct Golden {
    Format format;
    std::size_t scale_at;
    std::size_t pattern_at;
    bool has_min;
    float min;
    double values[6];
    double weighted_sum;
};

constexpr Golden goldens[] = {
    {Format::q4_0, 0, 2, false, 0, {1.5, -4.0, -2.5, -2.5, 2.0, -2.5}, -303.5},
    {Format::q4_1, 0, 4, true, -1.25F, {4.25, -1.25, 0.25, 0.25, 4.75, 0.25}, 1148.5},
    {Format::q5_0, 0, 2, false, 0, {7.5, 2.0, -2.0, -2.0, -5.5, -2.0}, -168.5},
    {Format::q5_1, 0, 4, true, -1.25F, {14.25, 8.75, 4.75, 4.75, 1.25, 4.75}, 3395.5},
    {Format::q8_0, 0, 2, false, 0, {5.5, 24.0, -64.0, -61.0, 10.0, -61.0}, -1944.0},
    {Format::q4_k, 0, 4, true, 0.25F, {30.75, 58.25, 58.25, 3.25, -8.75, 15.5}, 2566624.0},
    {Format::q5_k, 0, 4, true, 0.25F, {118.75, 58.25, 58.25, 3.25, -8.75, 105.5}, 5348296.0},
    {Format::q6_k, 208, 0, false, 0, {-715.5, 848.0, 256.0, -48.0, 182.0, -30.0}, 392210.0},
};

void put_half(std::vector<std::uint8_t>& bytes, std::size_t at, float value) {
    const std::uint16_t half = float_to_half(value);
    bytes[at] = static_cast<std::uint8_t>(half);
    bytes[at + 1] = static_cast<std::uint8_t>(half >> 8);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(format)

BOOST_AUTO_TEST_CASE(every_half_survives_float_and_back) {
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        const float value = half_to_float(half);
        if (std::isnan(value))
            BOOST_TEST(std::isnan(half_to_float(float_to_half(value))));
        else if (float_to_half(value) != half)
            BOOST_ERROR("half " << bits << " came back as " << float_to_half(value));
    }
}

BOOST_AUTO_TEST_CASE(halves_round_to_nearest_even) {
    BOOST_TEST(half_to_float(0x3c00) == 1.0F);
    BOOST_TEST(half_to_float(0x0001) == 0x1p-24F);
    BOOST_TEST(float_to_half(1.0F + 0x1p-11F) == 0x3c00);
    BOOST_TEST(float_to_half(1.0F + 3 * 0x1p-11F) == 0x3c02);
    BOOST_TEST(float_to_half(0x1p-25F) == 0x0000);
    BOOST_TEST(float_to_half(0x1.8p-24F) == 0x0002);
    BOOST_TEST(float_to_half(65'519.0F) == 0x7bff);
    BOOST_TEST(float_to_half(65'520.0F) == 0x7c00);
    BOOST_TEST(float_to_half(-std::numeric_limits<float>::infinity()) == 0xfc00);
}

BOOST_AUTO_TEST_CASE(blocks_decode_as_the_reference_decodes_them) {
    for (const Golden& golden : goldens) {
        const FormatInfo& info = *format_info(golden.format);
        std::vector<std::uint8_t> block(info.block_bytes);
        for (std::size_t i = golden.pattern_at; i < block.size(); ++i)
            block[i] = static_cast<std::uint8_t>((i - golden.pattern_at) * 37 + 11);
        put_half(block, golden.scale_at, 0.5F);
        if (golden.has_min) put_half(block, golden.scale_at + 2, golden.min);

        const std::size_t n = info.block_weights;
        std::vector<float> out(n);
        dequantize_row(golden.format, block.data(), n, out.data());
        const std::size_t at[] = {0, 1, 17, 31, n / 2 + 5, n - 1};
        for (std::size_t i = 0; i < 6; ++i)
            BOOST_TEST(static_cast<double>(out[at[i]]) == golden.values[i], info.name << " at " << at[i]);
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(out[i]) * static_cast<double>(i + 1);
        BOOST_TEST(sum == golden.weighted_sum, info.name);
    }
}

BOOST_AUTO_TEST_CASE(unquantised_rows_are_their_own_values) {
    const std::uint8_t bytes[] = {0x00, 0x00, 0xc0, 0xbf, 0x00, 0x00, 0x80, 0x3e};
    float out[4] = {};
    dequantize_row(Format::f32, bytes, 2, out);
    BOOST_TEST(out[0] == -1.5F);
    BOOST_TEST(out[1] == 0.25F);
    dequantize_row(Format::bf16, bytes, 4, out);
    BOOST_TEST(out[1] == -1.5F);
    BOOST_TEST(out[3] == 0.25F);
    const std::uint8_t halves[] = {0x00, 0xbe, 0x00, 0x34};
    dequantize_row(Format::f16, halves, 2, out);
    BOOST_TEST(out[0] == -1.5F);
    BOOST_TEST(out[1] == 0.25F);
}

BOOST_AUTO_TEST_CASE(unknown_formats_and_part_blocks_have_no_size) {
    BOOST_TEST(format_info(static_cast<Format>(77)) == nullptr);
    BOOST_TEST(row_bytes(static_cast<Format>(77), 32) == 0U);
    BOOST_TEST(row_bytes(Format::q4_1, 48) == 0U);
    BOOST_TEST(row_bytes(Format::q4_1, 64) == 40U);
    BOOST_TEST(row_bytes(Format::q6_k, 128) == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
