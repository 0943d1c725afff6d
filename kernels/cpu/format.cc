#include "kernels/format.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "k_blocks.h"

namespace exa::kernels {

namespace {

float load_half(const std::uint8_t* bytes) {
    return half_to_float(static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8));
}

float load_float(const std::uint8_t* bytes) {
    float value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

void block_q4(const std::uint8_t* nibbles, float d, float m, float* out) {
    for (int i = 0; i < 16; ++i) {
        out[i] = d * static_cast<float>(nibbles[i] & 15) + m;
        out[16 + i] = d * static_cast<float>(nibbles[i] >> 4) + m;
    }
}

void block_q5(const std::uint8_t* high, const std::uint8_t* nibbles, float d, float m, float* out) {
    std::uint32_t bits;
    std::memcpy(&bits, high, sizeof bits);
    for (int i = 0; i < 16; ++i) {
        out[i] = d * static_cast<float>((nibbles[i] & 15U) | (bits >> i & 1U) << 4) + m;
        out[16 + i] = d * static_cast<float>((nibbles[i] >> 4U) | (bits >> (i + 16) & 1U) << 4) + m;
    }
}

// Pairs of sub-blocks share 32 bytes: the even one takes the low nibbles, the odd one the high nibbles.
void block_q4_k(const std::uint8_t* block, float* out) {
    const float d = load_half(block);
    const float dmin = load_half(block + 2);
    for (int sub = 0; sub < 8; ++sub) {
        const auto [scale, min] = k_scale(block + 4, sub);
        const std::uint8_t* nibbles = block + 16 + 32 * (sub / 2);
        for (int i = 0; i < 32; ++i) {
            const int q = sub % 2 == 0 ? nibbles[i] & 15 : nibbles[i] >> 4;
            out[32 * sub + i] = d * static_cast<float>(scale) * static_cast<float>(q) - dmin * static_cast<float>(min);
        }
    }
}

void block_q5_k(const std::uint8_t* block, float* out) {
    const float d = load_half(block);
    const float dmin = load_half(block + 2);
    const std::uint8_t* high = block + 16;
    for (int sub = 0; sub < 8; ++sub) {
        const auto [scale, min] = k_scale(block + 4, sub);
        const std::uint8_t* nibbles = block + 48 + 32 * (sub / 2);
        for (int i = 0; i < 32; ++i) {
            const int q = (sub % 2 == 0 ? nibbles[i] & 15 : nibbles[i] >> 4) | (high[i] >> sub & 1) << 4;
            out[32 * sub + i] = d * static_cast<float>(scale) * static_cast<float>(q) - dmin * static_cast<float>(min);
        }
    }
}

// Two halves of 128; in each, four runs of 32 take (low nibble, high nibble) of two 32-byte rows and two bits of `qh`.
void block_q6_k(const std::uint8_t* block, float* out) {
    const float d = load_half(block + 208);
    for (int half = 0; half < 2; ++half) {
        const std::uint8_t* low = block + 64 * half;
        const std::uint8_t* high = block + 128 + 32 * half;
        const std::uint8_t* scales = block + 192 + 8 * half;
        for (int run = 0; run < 4; ++run) {
            for (int i = 0; i < 32; ++i) {
                const int byte = low[32 * (run % 2) + i];
                const int q = (run < 2 ? byte & 15 : byte >> 4) | (high[i] >> (2 * run) & 3) << 4;
                const auto scale = static_cast<std::int8_t>(scales[2 * run + i / 16]);
                out[128 * half + 32 * run + i] = d * static_cast<float>(scale) * static_cast<float>(q - 32);
            }
        }
    }
}

void dequantize_block(Format format, const std::uint8_t* block, float* out) {
    switch (format) {
        case Format::f32:
            *out = load_float(block);
            return;
        case Format::f16:
            *out = load_half(block);
            return;
        case Format::bf16:
            *out = std::bit_cast<float>(static_cast<std::uint32_t>(block[0] | block[1] << 8) << 16);
            return;
        case Format::q4_0: {
            const float d = load_half(block);
            return block_q4(block + 2, d, -8.0F * d, out);
        }
        case Format::q4_1:
            return block_q4(block + 4, load_half(block), load_half(block + 2), out);
        case Format::q5_0: {
            const float d = load_half(block);
            return block_q5(block + 2, block + 6, d, -16.0F * d, out);
        }
        case Format::q5_1:
            return block_q5(block + 4, block + 8, load_half(block), load_half(block + 2), out);
        case Format::q8_0: {
            const float d = load_half(block);
            for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(static_cast<std::int8_t>(block[2 + i]));
            return;
        }
        case Format::q4_k:
            return block_q4_k(block, out);
        case Format::q5_k:
            return block_q5_k(block, out);
        case Format::q6_k:
            return block_q6_k(block, out);
    }
}

}  // namespace

const FormatInfo* format_info(Format format) {
    static constexpr FormatInfo f32{"F32", 1, 4}, f16{"F16", 1, 2}, bf16{"BF16", 1, 2}, q4_0{"Q4_0", 32, 18},
        q4_1{"Q4_1", 32, 20}, q5_0{"Q5_0", 32, 22}, q5_1{"Q5_1", 32, 24}, q8_0{"Q8_0", 32, 34}, q4_k{"Q4_K", 256, 144},
        q5_k{"Q5_K", 256, 176}, q6_k{"Q6_K", 256, 210};
    switch (format) {
        case Format::f32:
            return &f32;
        case Format::f16:
            return &f16;
        case Format::bf16:
            return &bf16;
        case Format::q4_0:
            return &q4_0;
        case Format::q4_1:
            return &q4_1;
        case Format::q5_0:
            return &q5_0;
        case Format::q5_1:
            return &q5_1;
        case Format::q8_0:
            return &q8_0;
        case Format::q4_k:
            return &q4_k;
        case Format::q5_k:
            return &q5_k;
        case Format::q6_k:
            return &q6_k;
    }
    return nullptr;
}

std::size_t row_bytes(Format format, std::size_t cols) {
    const FormatInfo* info = format_info(format);
    if (info == nullptr || cols % info->block_weights != 0) return 0;
    return cols / info->block_weights * info->block_bytes;
}

void dequantize_row(Format format, const std::uint8_t* row, std::size_t cols, float* out) {
    const FormatInfo* info = format_info(format);
    if (info == nullptr) return;
    for (std::size_t at = 0; at < cols; at += info->block_weights, row += info->block_bytes)
        dequantize_block(format, row, out + at);
}

float half_to_float(std::uint16_t half) {
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
    const std::uint32_t exponent = half >> 10 & 31U;
    const std::uint32_t fraction = half & 0x3ffU;
    if (exponent == 31) {
        const std::uint32_t quiet = fraction != 0 ? 0x400000U : 0U;
        return std::bit_cast<float>(sign | 0x7f800000U | quiet | fraction << 13);
    }
    if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
    const float magnitude = static_cast<float>(fraction) * 0x1.0p-24F;
    return sign != 0 ? -magnitude : magnitude;
}

std::uint16_t float_to_half(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>(sign | 0x7e00U | (magnitude >> 13 & 0x3ffU));
    // From 65,520 on, half of the last step past the largest half, everything rounds to infinity.
    if (magnitude >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U);
    if (magnitude < 0x38800000U) {
        // Below 2^-14 halves are multiples of 2^-24.
        const float units = std::bit_cast<float>(magnitude) * 0x1.0p24F;
        const float rounded = std::nearbyint(units);
        return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(rounded));
    }
    const std::uint32_t rounded = magnitude + 0xfffU + (magnitude >> 13 & 1U);
    return static_cast<std::uint16_t>(sign | (rounded - 0x38000000U) >> 13);
}

}  // namespace exa::kernels
