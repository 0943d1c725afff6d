#include "model/quantize.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/check.h"

namespace exa::model {

namespace {

constexpr std::size_t block_elements = 32;
using Block = std::span<const float, block_elements>;

void put_u16(std::uint16_t value, Bytes& out) {
    out.push_back(static_cast<std::uint8_t>(value & 0xff));
    out.push_back(static_cast<std::uint8_t>(value >> 8));
}

void put_u32(std::uint32_t value, Bytes& out) {
    put_u16(static_cast<std::uint16_t>(value & 0xffff), out);
    put_u16(static_cast<std::uint16_t>(value >> 16), out);
}

float inverse(float scale) {
    return scale == 0 ? 0 : 1 / scale;
}

std::uint8_t clamp_round(float value, int max) {
    return static_cast<std::uint8_t>(std::clamp(static_cast<int>(std::lround(value)), 0, max));
}

void quantize_q8(Block block, Bytes& out) {
    float largest = 0;
    for (const float value : block) largest = std::max(largest, std::abs(value));
    const float scale = largest / 127;
    put_u16(to_half(scale), out);
    for (const float value : block) {
        const long level = std::lround(value * inverse(scale));
        out.push_back(static_cast<std::uint8_t>(static_cast<std::int8_t>(std::clamp(level, -127L, 127L))));
    }
}

// `levels` of 4 or 5 bits: the fifth bits first, as one word, then nibbles with element i beside element i + 16.
void put_levels(const std::array<std::uint8_t, block_elements>& levels, bool five_bits, Bytes& out) {
    if (five_bits) {
        std::uint32_t high = 0;
        for (std::size_t i = 0; i < block_elements; ++i) high |= static_cast<std::uint32_t>(levels[i] >> 4) << i;
        put_u32(high, out);
    }
    for (std::size_t i = 0; i < block_elements / 2; ++i)
        out.push_back(static_cast<std::uint8_t>((levels[i] & 15) | (levels[i + block_elements / 2] & 15) << 4));
}

// value = scale * (level - half): the extreme value gets level 0, the end with one step more of reach.
void quantize_symmetric(Block block, int half, Bytes& out) {
    float extreme = 0;
    for (const float value : block)
        if (std::abs(value) > std::abs(extreme)) extreme = value;
    const float scale = extreme / static_cast<float>(-half);
    put_u16(to_half(scale), out);
    std::array<std::uint8_t, block_elements> levels{};
    for (std::size_t i = 0; i < block_elements; ++i)
        levels[i] = clamp_round(block[i] * inverse(scale) + static_cast<float>(half), 2 * half - 1);
    put_levels(levels, half == 16, out);
}

// value = scale * level + lowest.
void quantize_affine(Block block, int level_max, Bytes& out) {
    const auto [lowest, highest] = std::ranges::minmax(block);
    const float scale = (highest - lowest) / static_cast<float>(level_max);
    put_u16(to_half(scale), out);
    put_u16(to_half(lowest), out);
    std::array<std::uint8_t, block_elements> levels{};
    for (std::size_t i = 0; i < block_elements; ++i)
        levels[i] = clamp_round((block[i] - lowest) * inverse(scale), level_max);
    put_levels(levels, level_max == 31, out);
}

}  // namespace

std::uint16_t to_half(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U) return sign | 0x7e00U;
    if (magnitude >= 0x477ff000U) return sign | 0x7c00U;
    // Below the smallest normal half, adding 0.5 leaves the rounded subnormal in the low mantissa bits.
    if (magnitude < 0x38800000U) {
        const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
        return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U));
    }
    const std::uint32_t odd = magnitude >> 13 & 1U;
    return static_cast<std::uint16_t>(sign | (magnitude - 0x38000000U + 0xfffU + odd) >> 13);
}

float from_half(std::uint16_t bits) {
    const auto sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
    const std::uint32_t exponent = bits >> 10 & 0x1fU;
    const std::uint32_t mantissa = bits & 0x3ffU;
    if (exponent == 0) {
        const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
        return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
    }
    const std::uint32_t biased = exponent == 0x1f ? 0xffU : exponent + 112;
    return std::bit_cast<float>(sign | biased << 23 | mantissa << 13);
}

bool can_quantize(TensorType type) {
    const auto block = block_shape(type);
    return block && block->elements <= block_elements;
}

void quantize(TensorType type, std::span<const float> values, Bytes& out) {
    EXA_CHECK(can_quantize(type) && values.size() % block_shape(type)->elements == 0);
    if (type == TensorType::f32) {
        for (const float value : values) put_u32(std::bit_cast<std::uint32_t>(value), out);
        return;
    }
    if (type == TensorType::f16) {
        for (const float value : values) put_u16(to_half(value), out);
        return;
    }
    if (type == TensorType::bf16) {
        for (const float value : values) {
            const auto bits = std::bit_cast<std::uint32_t>(value);
            put_u16(static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16), out);
        }
        return;
    }
    for (; !values.empty(); values = values.subspan(block_elements)) {
        const Block block = values.first<block_elements>();
        if (type == TensorType::q8_0) quantize_q8(block, out);
        if (type == TensorType::q4_0) quantize_symmetric(block, 8, out);
        if (type == TensorType::q5_0) quantize_symmetric(block, 16, out);
        if (type == TensorType::q4_1) quantize_affine(block, 15, out);
        if (type == TensorType::q5_1) quantize_affine(block, 31, out);
    }
}

}  // namespace exa::model
