// Matrix: weights laid out for multiplication, and the activations they meet.
//
// Quantised weights are repacked once at load: 8 rows are interleaved four columns at a time, so that one vector
// register holds 8 rows and their sums come out side by side, without a horizontal add. Activations become integers of
// 15 bits per 32 columns of one token; products of integers are exact, so only the order of the blocks matters, and it
// is always first to last. An output element is hence the same bits whatever tokens are multiplied beside it.
//
// Why 15 bits and not the usual 8: in a deep small model the rounding of 8 bits moves log-probabilities of likely
// tokens by 0.03 and of unlikely ones by 0.08. The second byte costs no time where memory is the limit, which is
// decode.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/format.h"

namespace exa::kernels {

inline constexpr std::size_t tile_rows = 8;
inline constexpr std::size_t block_cols = 32;

// rows_*: as in the file, row by row. tiles_*: ceil(rows / 8) tiles, each a run of blocks of 8 rows x 32 columns, the
// rows past the end zero. In a block q holds, for every group g of 4 columns, 4 bytes of each of the 8 rows; tiles_4
// keeps columns c (low nibble) and c + 16 (high nibble) in one byte.
enum class Layout : std::uint8_t {
    rows_f32,
    rows_f16,
    rows_bf16,
    tiles_4,        // d: f16[8], m: f16[8], q: u4[4][8][4] x 2;  w = d q + m
    tiles_4_wide,   // the same with d: f32[8], m: f32[8]
    tiles_8,        // d: f16[8], q: i8[8][8][4];  w = d q
    tiles_8_wide,   // d: f32[8], m: f32[8], q: i8[8][8][4];  w = d q + m
    tiles_8_halves  // d: f32[2][8] for columns 0-15 and 16-31, q: i8[8][8][4];  w = d q
};

// W[rows, cols]. `data` is not owned; tiles need no alignment but run fastest at 32 bytes.
struct Matrix {
    Layout layout = Layout::rows_f32;
    std::size_t rows = 0;
    std::size_t cols = 0;
    const std::uint8_t* data = nullptr;
};

Layout layout_of(Format format);

// Bytes of the tiles; 0 for the formats that are multiplied as they lie in the file.
std::size_t packed_bytes(Format format, std::size_t rows, std::size_t cols);

// source: [rows] of row_bytes(format, cols). out: packed_bytes(format, rows, cols), which must not be 0.
void pack(Format format, const std::uint8_t* source, std::size_t rows, std::size_t cols, std::uint8_t* out);

// Whether the layout multiplies the integer activations (true) or the floats (false).
bool is_quantized(Layout layout);

// One batch of activations X[tokens, cols] in both shapes; buffers belong to the caller.
// high, low: [tokens, cols], one integer q = 128 high + low, |q| <= 16,256, -64 <= low < 64.
// scale, sum: [tokens, cols / 32]. x = scale q within rounding; sum = scale * (sum of the block's q).
struct Activations {
    const float* x = nullptr;
    std::int8_t* high = nullptr;
    std::int8_t* low = nullptr;
    float* scale = nullptr;
    float* sum = nullptr;
};

inline constexpr float activation_max = 127 * 128;

}  // namespace exa::kernels
