#include "model/quantize.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

namespace {

using exa::Bytes;
using exa::model::from_half;
using exa::model::quantize;
using exa::model::TensorType;
using exa::model::to_half;

// -16 .. 15: exact in every format of 5 bits and up.
std::vector<float> ramp() {
    std::vector<float> values;
    for (int i = -16; i < 16; ++i) values.push_back(static_cast<float>(i));
    return values;
}

Bytes quantized(TensorType type, const std::vector<float>& values) {
    Bytes out;
    quantize(type, values, out);
    return out;
}

float half_at(const Bytes& bytes, std::size_t at) {
    return from_half(static_cast<std::uint16_t>(bytes[at] | bytes[at + 1] << 8));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(quantize_rows)

BOOST_AUTO_TEST_CASE(every_half_survives_float_and_back) {
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        const float value = from_half(half);
        if (std::isnan(value))
            BOOST_TEST(std::isnan(from_half(to_half(value))));
        else if (to_half(value) != half)
            BOOST_ERROR("half " << bits << " came back as " << to_half(value));
    }
}

BOOST_AUTO_TEST_CASE(halves_round_to_nearest_even_and_overflow_to_infinity) {
    BOOST_TEST(to_half(1.0F) == 0x3c00);
    BOOST_TEST(to_half(-2.0F) == 0xc000);
    BOOST_TEST(to_half(1 + 0x1p-11F) == 0x3c00);      // half way: to the even one below
    BOOST_TEST(to_half(1 + 3 * 0x1p-11F) == 0x3c02);  // half way: to the even one above
    BOOST_TEST(to_half(1 + 0x1.1p-11F) == 0x3c01);    // above half way
    BOOST_TEST(to_half(0x1p-24F) == 0x0001);          // the smallest
    BOOST_TEST(to_half(0x1p-25F) == 0x0000);          // half of it: to zero, the even one
    BOOST_TEST(to_half(65'504.0F) == 0x7bff);         // the largest
    BOOST_TEST(to_half(65'519.0F) == 0x7bff);
    BOOST_TEST(to_half(65'520.0F) == 0x7c00);
    BOOST_TEST(to_half(std::numeric_limits<float>::infinity()) == 0x7c00);
    BOOST_TEST(to_half(-0.0F) == 0x8000);
}

BOOST_AUTO_TEST_CASE(q8_0_is_a_scale_and_32_signed_bytes) {
    std::vector<float> values(32, 0.0F);
    values[0] = 127;
    values[1] = -127;
    values[31] = 63.6F;
    const Bytes out = quantized(TensorType::q8_0, values);
    BOOST_TEST_REQUIRE(out.size() == 34U);
    BOOST_TEST(half_at(out, 0) == 1.0F);
    BOOST_TEST(out[2] == 127);
    BOOST_TEST(out[3] == 0x81);
    BOOST_TEST(out[33] == 64);
}

BOOST_AUTO_TEST_CASE(q4_1_is_scale_minimum_and_nibbles_of_both_halves) {
    std::vector<float> values(32);
    for (std::size_t i = 0; i < 32; ++i) values[i] = 3 + 2 * static_cast<float>(i % 16);
    const Bytes out = quantized(TensorType::q4_1, values);
    BOOST_TEST_REQUIRE(out.size() == 20U);
    BOOST_TEST(half_at(out, 0) == 2.0F);
    BOOST_TEST(half_at(out, 2) == 3.0F);
    for (std::size_t i = 0; i < 16; ++i) BOOST_TEST(out[4 + i] == (i | i << 4));
}

BOOST_AUTO_TEST_CASE(q4_0_gives_the_extreme_value_the_end_with_more_reach) {
    std::vector<float> values(32, 0.0F);
    values[0] = 16;    // scale -2, level 0
    values[16] = -14;  // level 15
    const Bytes out = quantized(TensorType::q4_0, values);
    BOOST_TEST_REQUIRE(out.size() == 18U);
    BOOST_TEST(half_at(out, 0) == -2.0F);
    BOOST_TEST(out[2] == 0xf0);
    BOOST_TEST(out[3] == 0x88);
}

BOOST_AUTO_TEST_CASE(five_bit_formats_keep_the_fifth_bits_apart) {
    const Bytes symmetric = quantized(TensorType::q5_0, ramp());
    BOOST_TEST_REQUIRE(symmetric.size() == 22U);
    BOOST_TEST(half_at(symmetric, 0) == 1.0F);
    const Bytes affine = quantized(TensorType::q5_1, ramp());
    BOOST_TEST_REQUIRE(affine.size() == 24U);
    BOOST_TEST(half_at(affine, 0) == 1.0F);
    BOOST_TEST(half_at(affine, 2) == -16.0F);
    // Levels 0 .. 31 in both: the fifth bit is set in the second half, the nibbles count up in each.
    for (const Bytes& tail : {Bytes(symmetric.begin() + 2, symmetric.end()), Bytes(affine.begin() + 4, affine.end())}) {
        BOOST_TEST(exa::to_hex(exa::ByteView(tail).first(4)) == "0000ffff");
        for (std::size_t i = 0; i < 16; ++i) BOOST_TEST(tail[4 + i] == (i | i << 4));
    }
}

BOOST_AUTO_TEST_CASE(a_block_of_zeros_stays_zero) {
    for (const TensorType type :
         {TensorType::q8_0, TensorType::q4_0, TensorType::q4_1, TensorType::q5_0, TensorType::q5_1}) {
        const Bytes out = quantized(type, std::vector<float>(32, 0.0F));
        BOOST_TEST(half_at(out, 0) == 0.0F);
        BOOST_TEST(out.size() == exa::model::row_bytes(type, 32));
    }
}

BOOST_AUTO_TEST_CASE(bf16_rounds_to_nearest_even) {
    BOOST_TEST(exa::to_hex(quantized(TensorType::bf16, {1.0F, 1 + 0x1p-8F, 1 + 3 * 0x1p-8F})) == "803f803f823f");
}

BOOST_AUTO_TEST_CASE(k_formats_are_not_written) {
    BOOST_TEST(exa::model::can_quantize(TensorType::q5_1));
    BOOST_TEST(!exa::model::can_quantize(TensorType::q6_k));
    BOOST_TEST(!exa::model::can_quantize(static_cast<TensorType>(99)));
}

BOOST_AUTO_TEST_SUITE_END()
