// Multiplication, AVX2 family.
//
// A tile of 8 weight rows meets up to 4 tokens at once: the weights are unpacked once and stay in registers, and every
// (row, token) pair has its own accumulator lane, so the number of tokens changes nothing but the speed. Rows kept as
// floats are summed in 8 lanes over the columns, 4 rows x up to 2 tokens at once, with the same property.
#include "avx2.h"

#if defined(__x86_64__)

#include <cstring>

#include "families.h"

namespace exa::kernels::avx2 {

namespace {

EXA_AVX2_INLINE __m256i load_bytes(const void* at) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(at));
}

EXA_AVX2_INLINE __m256 load_halves(const void* at) {
    return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(at)));
}

// 4 activations, repeated for each of the 8 rows.
EXA_AVX2_INLINE __m256i broadcast_4(const std::int8_t* q) {
    std::int32_t four;
    std::memcpy(&four, q, sizeof four);
    return _mm256_set1_epi32(four);
}

// What one token brings to the blocks of a tile.
struct Token {
    const std::int8_t* high;
    const std::int8_t* low;
    const float* scale;
    const float* sum;
};

EXA_AVX2_INLINE __m256 fold(__m256 acc, __m256i dots, __m256 d, float scale) {
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(dots), _mm256_mul_ps(d, _mm256_set1_ps(scale)), acc);
}

// Pairs of 16-bit sums to one 32-bit sum: 128 high + low.
EXA_AVX2_INLINE __m256i join(__m256i high, __m256i low) {
    return _mm256_add_epi32(_mm256_madd_epi16(high, _mm256_set1_epi16(128)),
                            _mm256_madd_epi16(low, _mm256_set1_epi16(1)));
}

// The integers of 8 rows times 4 columns each, for the low and high nibbles of 32 bytes.
EXA_AVX2_INLINE __m256i multiply_nibbles(__m256i first, __m256i second, const std::int8_t* q) {
    return _mm256_add_epi16(_mm256_maddubs_epi16(first, broadcast_4(q)),
                            _mm256_maddubs_epi16(second, broadcast_4(q + 16)));
}

// 16-bit sums cannot overflow: 8 groups x 2 products x 15 x 127 = 30,480. Joined to 32 bits they stay below 2^24, which
// a float holds exactly.
template <int tokens, bool wide>
EXA_AVX2_INLINE void tile_4(const std::uint8_t* block, std::size_t blocks, const Token* token, __m256* acc) {
    const __m256i nibble = _mm256_set1_epi8(15);
    constexpr std::size_t scale_bytes = wide ? 32 : 16;
    for (std::size_t b = 0; b < blocks; ++b, block += 2 * scale_bytes + 128) {
        __m256i high[tokens];
        __m256i low[tokens];
#pragma clang loop unroll(full)
        for (int j = 0; j < 4; ++j) {
            const __m256i bytes = load_bytes(block + 2 * scale_bytes + 32 * j);
            const __m256i first = _mm256_and_si256(bytes, nibble);
            const __m256i second = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), nibble);
#pragma clang loop unroll(full)
            for (int t = 0; t < tokens; ++t) {
                const std::size_t at = b * block_cols + 4 * static_cast<std::size_t>(j);
                const __m256i more_high = multiply_nibbles(first, second, token[t].high + at);
                const __m256i more_low = multiply_nibbles(first, second, token[t].low + at);
                high[t] = j == 0 ? more_high : _mm256_add_epi16(high[t], more_high);
                low[t] = j == 0 ? more_low : _mm256_add_epi16(low[t], more_low);
            }
        }
        const auto* scales = reinterpret_cast<const float*>(block);
        const __m256 d = wide ? _mm256_loadu_ps(scales) : load_halves(block);
        const __m256 m = wide ? _mm256_loadu_ps(scales + 8) : load_halves(block + 16);
#pragma clang loop unroll(full)
        for (int t = 0; t < tokens; ++t) {
            acc[t] = fold(acc[t], join(high[t], low[t]), d, token[t].scale[b]);
            acc[t] = _mm256_fmadd_ps(m, _mm256_set1_ps(token[t].sum[b]), acc[t]);
        }
    }
}

// Signed weights: |w| times the activation with w's sign. 2 x 128 x 127 fits 16 bits, one group at a time.
EXA_AVX2_INLINE __m256i dot_signed(__m256i weights, __m256i magnitude, const Token& token, std::size_t at) {
    return join(_mm256_maddubs_epi16(magnitude, _mm256_sign_epi8(broadcast_4(token.high + at), weights)),
                _mm256_maddubs_epi16(magnitude, _mm256_sign_epi8(broadcast_4(token.low + at), weights)));
}

template <int tokens, Layout layout>
EXA_AVX2_INLINE void tile_8(const std::uint8_t* block, std::size_t blocks, const Token* token, __m256* acc) {
    constexpr bool wide = layout != Layout::tiles_8;
    constexpr std::size_t scale_bytes = wide ? 64 : 16;
    for (std::size_t b = 0; b < blocks; ++b, block += scale_bytes + 256) {
        __m256i dots[tokens][2];
#pragma clang loop unroll(full)
        for (int g = 0; g < 8; ++g) {
            const __m256i weights = load_bytes(block + scale_bytes + 32 * g);
            const __m256i magnitude = _mm256_abs_epi8(weights);
#pragma clang loop unroll(full)
            for (int t = 0; t < tokens; ++t) {
                const __m256i dot =
                    dot_signed(weights, magnitude, token[t], b * block_cols + 4 * static_cast<std::size_t>(g));
                dots[t][g / 4] = g % 4 == 0 ? dot : _mm256_add_epi32(dots[t][g / 4], dot);
            }
        }
        const auto* scales = reinterpret_cast<const float*>(block);
        const __m256 d = wide ? _mm256_loadu_ps(scales) : load_halves(block);
        const __m256 second = wide ? _mm256_loadu_ps(scales + 8) : _mm256_setzero_ps();
#pragma clang loop unroll(full)
        for (int t = 0; t < tokens; ++t) {
            if constexpr (layout == Layout::tiles_8_halves) {
                acc[t] = fold(acc[t], dots[t][0], d, token[t].scale[b]);
                acc[t] = fold(acc[t], dots[t][1], second, token[t].scale[b]);
            } else {
                acc[t] = fold(acc[t], _mm256_add_epi32(dots[t][0], dots[t][1]), d, token[t].scale[b]);
                if constexpr (wide) acc[t] = _mm256_fmadd_ps(second, _mm256_set1_ps(token[t].sum[b]), acc[t]);
            }
        }
    }
}

template <int tokens, Layout layout>
EXA_AVX2 void multiply_tiles(const Matrix& w, const Activations& x, std::size_t first, float* y) {
    const std::size_t blocks = w.cols / block_cols;
    const std::size_t tile_bytes = blocks * block_bytes(layout);
    Token token[tokens];
    for (std::size_t t = 0; t < tokens; ++t) {
        const std::size_t at = (first + t) * blocks;
        token[t] = {x.high + at * block_cols, x.low + at * block_cols, x.scale + at, x.sum + at};
    }
    for (std::size_t row = 0; row < w.rows; row += tile_rows) {
        __m256 acc[tokens];
        for (int t = 0; t < tokens; ++t) acc[t] = _mm256_setzero_ps();
        const std::uint8_t* tile = w.data + row / tile_rows * tile_bytes;
        if constexpr (layout == Layout::tiles_4 || layout == Layout::tiles_4_wide)
            tile_4<tokens, layout == Layout::tiles_4_wide>(tile, blocks, token, acc);
        else
            tile_8<tokens, layout>(tile, blocks, token, acc);
        const std::size_t rows = w.rows - row < tile_rows ? w.rows - row : tile_rows;
        for (std::size_t t = 0; t < tokens; ++t) {
            float lanes[tile_rows];
            _mm256_storeu_ps(lanes, acc[t]);
            std::memcpy(y + (first + t) * w.rows + row, lanes, rows * sizeof(float));
        }
    }
}

template <Layout layout>
EXA_AVX2 void matmul_tiles(const Matrix& w, const Activations& x, std::size_t tokens, float* y) {
    std::size_t t = 0;
    for (; t + 4 <= tokens; t += 4) multiply_tiles<4, layout>(w, x, t, y);
    if (tokens - t >= 2) {
        multiply_tiles<2, layout>(w, x, t, y);
        t += 2;
    }
    if (tokens - t == 1) multiply_tiles<1, layout>(w, x, t, y);
}

template <Layout layout>
constexpr std::size_t weight_bytes = layout == Layout::rows_f32 ? 4 : 2;

template <Layout layout>
EXA_AVX2_INLINE __m256 load_weights(const std::uint8_t* at) {
    if constexpr (layout == Layout::rows_f32) {
        return _mm256_loadu_ps(reinterpret_cast<const float*>(at));
    } else if constexpr (layout == Layout::rows_f16) {
        return load_halves(at);
    } else {
        const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
        return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
    }
}

// The last cols % 8 columns, zero-filled to a full vector, so that they take part like all others.
template <Layout layout>
EXA_AVX2_INLINE __m256 load_last_weights(const std::uint8_t* at, std::size_t count) {
    alignas(32) std::uint8_t bytes[32] = {};
    std::memcpy(bytes, at, count * weight_bytes<layout>);
    return load_weights<layout>(bytes);
}

EXA_AVX2_INLINE __m256 load_last_floats(const float* at, std::size_t count) {
    alignas(32) float floats[8] = {};
    std::memcpy(floats, at, count * sizeof(float));
    return _mm256_load_ps(floats);
}

template <int rows, int tokens, Layout layout>
EXA_AVX2 void multiply_rows(const Matrix& w, const Activations& x, std::size_t row, std::size_t first, float* y) {
    const std::size_t stride = w.cols * weight_bytes<layout>;
    const std::uint8_t* weights = w.data + row * stride;
    const float* input = x.x + first * w.cols;
    __m256 acc[rows][tokens];
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; ++r)
#pragma clang loop unroll(full)
        for (int t = 0; t < tokens; ++t) acc[r][t] = _mm256_setzero_ps();
    const std::size_t whole = w.cols / 8 * 8;
    for (std::size_t c = 0; c < whole; c += 8) {
        __m256 in[tokens];
#pragma clang loop unroll(full)
        for (std::size_t t = 0; t < tokens; ++t) in[t] = _mm256_loadu_ps(input + t * w.cols + c);
#pragma clang loop unroll(full)
        for (std::size_t r = 0; r < rows; ++r) {
            const __m256 weight = load_weights<layout>(weights + r * stride + c * weight_bytes<layout>);
#pragma clang loop unroll(full)
            for (std::size_t t = 0; t < tokens; ++t) acc[r][t] = _mm256_fmadd_ps(weight, in[t], acc[r][t]);
        }
    }
    const std::size_t rest = w.cols - whole;
    for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t t = 0; t < tokens; ++t) {
            __m256 sum = acc[r][t];
            if (rest != 0)
                sum = _mm256_fmadd_ps(
                    load_last_weights<layout>(weights + r * stride + whole * weight_bytes<layout>, rest),
                    load_last_floats(input + t * w.cols + whole, rest), sum);
            y[(first + t) * w.rows + row + r] = sum_lanes(sum);
        }
    }
}

template <int rows, Layout layout>
EXA_AVX2 void multiply_row_group(const Matrix& w, const Activations& x, std::size_t row, std::size_t tokens, float* y) {
    std::size_t t = 0;
    for (; t + 2 <= tokens; t += 2) multiply_rows<rows, 2, layout>(w, x, row, t, y);
    if (t < tokens) multiply_rows<rows, 1, layout>(w, x, row, t, y);
}

template <Layout layout>
EXA_AVX2 void matmul_rows(const Matrix& w, const Activations& x, std::size_t tokens, float* y) {
    std::size_t row = 0;
    for (; row + 4 <= w.rows; row += 4) multiply_row_group<4, layout>(w, x, row, tokens, y);
    for (; row < w.rows; ++row) multiply_row_group<1, layout>(w, x, row, tokens, y);
}

}  // namespace

void matmul(const Matrix& w, const Activations& x, std::size_t tokens, float* y) {
    switch (w.layout) {
        case Layout::rows_f32:
            return matmul_rows<Layout::rows_f32>(w, x, tokens, y);
        case Layout::rows_f16:
            return matmul_rows<Layout::rows_f16>(w, x, tokens, y);
        case Layout::rows_bf16:
            return matmul_rows<Layout::rows_bf16>(w, x, tokens, y);
        case Layout::tiles_4:
            return matmul_tiles<Layout::tiles_4>(w, x, tokens, y);
        case Layout::tiles_4_wide:
            return matmul_tiles<Layout::tiles_4_wide>(w, x, tokens, y);
        case Layout::tiles_8:
            return matmul_tiles<Layout::tiles_8>(w, x, tokens, y);
        case Layout::tiles_8_wide:
            return matmul_tiles<Layout::tiles_8_wide>(w, x, tokens, y);
        case Layout::tiles_8_halves:
            return matmul_tiles<Layout::tiles_8_halves>(w, x, tokens, y);
    }
}

}  // namespace exa::kernels::avx2

#endif
