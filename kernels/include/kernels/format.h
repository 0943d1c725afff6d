// Format: how a weight tensor lies in a GGUF file, and its way back to floats.
//
// A quantised row is a run of blocks; every block has its own scale (and minimum). Layouts: the GGUF specification and
// cpu/format.cc; all integers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>

namespace exa::kernels {

// The numbers are those of GGUF's tensor types.
enum class Format : std::uint32_t {
    f32 = 0,
    f16 = 1,
    q4_0 = 2,
    q4_1 = 3,
    q5_0 = 6,
    q5_1 = 7,
    q8_0 = 8,
    q4_k = 12,
    q5_k = 13,
    q6_k = 14,
    bf16 = 30,
};

struct FormatInfo {
    const char* name;
    std::uint32_t block_weights;
    std::uint32_t block_bytes;
};

// Null for a number that is no format above; the argument may come from a file.
const FormatInfo* format_info(Format format);

// Bytes of one row. 0 when the format is unknown or `cols` is not a multiple of its block.
std::size_t row_bytes(Format format, std::size_t cols);

// row: row_bytes(format, cols) bytes, any alignment. out: [cols].
void dequantize_row(Format format, const std::uint8_t* row, std::size_t cols, float* out);

// IEEE 754 binary16, as the hardware converts: subnormals, infinities and NaN kept, ties to even.
float half_to_float(std::uint16_t half);
std::uint16_t float_to_half(float value);

}  // namespace exa::kernels
