// Everything but multiplication, AVX2 family.
#include "avx2.h"

#if defined(__x86_64__)

#include <algorithm>
#include <cmath>
#include <cstring>

#include "families.h"

namespace exa::kernels::avx2 {

namespace {

// 8 signed 32-bit integers of four vectors each to 32 bytes in order.
EXA_AVX2_INLINE __m256i narrow(const __m256i (&wide)[4]) {
    const __m256i low = _mm256_packs_epi32(wide[0], wide[1]);
    const __m256i high = _mm256_packs_epi32(wide[2], wide[3]);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    return _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
}

EXA_AVX2_INLINE int sum_lanes_i32(__m256i v) {
    const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    const __m128i two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
    return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 1)));
}

// Scores of the 16 tokens of one page for `heads` query heads that share the K block.
template <int heads>
EXA_AVX2_INLINE void score_page(const std::uint16_t* keys, const float* q, std::size_t head_dim, float scale,
                                float* scores, std::size_t scores_stride) {
    __m256 acc[heads][2];
#pragma clang loop unroll(full)
    for (int h = 0; h < heads; ++h) acc[h][0] = acc[h][1] = _mm256_setzero_ps();
    for (std::size_t i = 0; i < head_dim; ++i) {
        const auto* halves = reinterpret_cast<const __m128i*>(keys + i * page_tokens);
        const __m256 first = _mm256_cvtph_ps(_mm_loadu_si128(halves));
        const __m256 second = _mm256_cvtph_ps(_mm_loadu_si128(halves + 1));
#pragma clang loop unroll(full)
        for (std::size_t h = 0; h < heads; ++h) {
            const __m256 query = _mm256_broadcast_ss(q + h * head_dim + i);
            acc[h][0] = _mm256_fmadd_ps(query, first, acc[h][0]);
            acc[h][1] = _mm256_fmadd_ps(query, second, acc[h][1]);
        }
    }
    const __m256 factor = _mm256_set1_ps(scale);
#pragma clang loop unroll(full)
    for (std::size_t h = 0; h < heads; ++h) {
        _mm256_storeu_ps(scores + h * scores_stride, _mm256_mul_ps(acc[h][0], factor));
        _mm256_storeu_ps(scores + h * scores_stride + 8, _mm256_mul_ps(acc[h][1], factor));
    }
}

// Scores to weights e^(score - max), in place; slots past `position` become 0. Returns 1 / their sum.
EXA_AVX2_INLINE float softmax_weights(float* scores, std::size_t position) {
    const std::size_t padded = (position / page_tokens + 1) * page_tokens;
    std::fill(scores + position + 1, scores + padded, -INFINITY);
    __m256 largest = _mm256_set1_ps(-INFINITY);
    for (std::size_t p = 0; p < padded; p += 8) largest = _mm256_max_ps(largest, _mm256_loadu_ps(scores + p));
    const __m256 top = _mm256_set1_ps(max_lanes(largest));
    __m256 sum = _mm256_setzero_ps();
    for (std::size_t p = 0; p < padded; p += 8) {
        const __m256 weight = exp(_mm256_sub_ps(_mm256_loadu_ps(scores + p), top));
        _mm256_storeu_ps(scores + p, weight);
        sum = _mm256_add_ps(sum, weight);
    }
    return 1.0F / sum_lanes(sum);
}

// out[h, c .. c + 8 vectors) = sum over the positions, first to last, of weight * V.
template <int heads, int vectors>
EXA_AVX2_INLINE void mix_values(const PagedKv& kv, std::size_t offset, std::size_t head_dim, std::size_t position,
                                const float* weights, std::size_t weights_stride, const float* inverse, float* out) {
    __m256 acc[heads][vectors];
#pragma clang loop unroll(full)
    for (int h = 0; h < heads; ++h)
#pragma clang loop unroll(full)
        for (int v = 0; v < vectors; ++v) acc[h][v] = _mm256_setzero_ps();
    for (std::size_t start = 0; start <= position; start += page_tokens) {
        const std::uint16_t* values = kv.base + kv.page_stride * kv.pages[start / page_tokens] + offset;
        const std::size_t count = std::min(page_tokens, position + 1 - start);
        for (std::size_t slot = 0; slot < count; ++slot, values += head_dim) {
            __m256 value[vectors];
#pragma clang loop unroll(full)
            for (int v = 0; v < vectors; ++v)
                value[v] = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(values + 8 * v)));
#pragma clang loop unroll(full)
            for (std::size_t h = 0; h < heads; ++h) {
                const __m256 weight = _mm256_broadcast_ss(weights + h * weights_stride + start + slot);
#pragma clang loop unroll(full)
                for (int v = 0; v < vectors; ++v) acc[h][v] = _mm256_fmadd_ps(weight, value[v], acc[h][v]);
            }
        }
    }
#pragma clang loop unroll(full)
    for (std::size_t h = 0; h < heads; ++h)
#pragma clang loop unroll(full)
        for (int v = 0; v < vectors; ++v)
            _mm256_storeu_ps(out + h * head_dim + 8 * v, _mm256_mul_ps(acc[h][v], _mm256_set1_ps(inverse[h])));
}

// `heads` query heads, at most 3, that share K and V head `kv_head`; q and out start at the first of them.
template <int heads>
EXA_AVX2 void attend_heads(const AttentionShape& shape, std::size_t kv_head, const float* q, const PagedKv& kv,
                           std::size_t position, float* scores, float* out) {
    const std::size_t dim = shape.head_dim;
    const std::size_t keys = kv_head * dim * page_tokens;
    const std::size_t values = keys + shape.kv_heads * dim * page_tokens;
    const std::size_t stride = (position / page_tokens + 1) * page_tokens;
    for (std::size_t start = 0; start <= position; start += page_tokens)
        score_page<heads>(kv.base + kv.page_stride * kv.pages[start / page_tokens] + keys, q, dim, shape.scale,
                          scores + start, stride);
    float inverse[heads];
    for (std::size_t h = 0; h < heads; ++h) inverse[h] = softmax_weights(scores + h * stride, position);
    std::size_t i = 0;
    for (; i + 32 <= dim; i += 32)
        mix_values<heads, 4>(kv, values + i, dim, position, scores, stride, inverse, out + i);
    for (; i < dim; i += 8) mix_values<heads, 1>(kv, values + i, dim, position, scores, stride, inverse, out + i);
}

}  // namespace

EXA_AVX2 void quantize(const Activations& out, std::size_t tokens, std::size_t cols) {
    const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
    for (std::size_t block = 0; block < tokens * cols / block_cols; ++block) {
        __m256 x[4];
        __m256 largest = _mm256_setzero_ps();
        __m256 poison = _mm256_setzero_ps();
        for (int v = 0; v < 4; ++v) {
            x[v] = _mm256_loadu_ps(out.x + block * block_cols + 8 * static_cast<std::size_t>(v));
            // The second operand wins over a NaN in the first.
            largest = _mm256_max_ps(_mm256_and_ps(x[v], magnitude), largest);
            // Infinity and NaN become NaN and spoil the whole block's scale: they must not pass for numbers.
            poison = _mm256_fmadd_ps(x[v], _mm256_setzero_ps(), poison);
        }
        const float top = max_lanes(largest);
        // Below that the division would overflow; such a block counts as zero.
        const __m256 inverse = _mm256_set1_ps(top > 0x1.0p-100F ? activation_max / top : 0.0F);
        __m256i high[4];
        __m256i low[4];
        __m256i sum = _mm256_setzero_si256();
        for (int v = 0; v < 4; ++v) {
            const __m256i value = _mm256_cvtps_epi32(_mm256_mul_ps(x[v], inverse));
            high[v] = _mm256_srai_epi32(_mm256_add_epi32(value, _mm256_set1_epi32(64)), 7);
            low[v] = _mm256_sub_epi32(value, _mm256_slli_epi32(high[v], 7));
            sum = _mm256_add_epi32(sum, value);
        }
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.high + block * block_cols), narrow(high));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.low + block * block_cols), narrow(low));
        const float scale = top / activation_max + sum_lanes(poison);
        out.scale[block] = scale;
        out.sum[block] = scale * static_cast<float>(sum_lanes_i32(sum));
    }
}

EXA_AVX2 void rms_norm(const float* x, const float* weight, float epsilon, std::size_t tokens, std::size_t cols,
                       float* y) {
    const std::size_t whole = cols / 8 * 8;
    for (std::size_t t = 0; t < tokens; ++t) {
        const float* row = x + t * cols;
        __m256 squares = _mm256_setzero_ps();
        for (std::size_t c = 0; c < whole; c += 8) {
            const __m256 value = _mm256_loadu_ps(row + c);
            squares = _mm256_fmadd_ps(value, value, squares);
        }
        float total = sum_lanes(squares);
        for (std::size_t c = whole; c < cols; ++c) total += row[c] * row[c];
        const float scale = 1.0F / std::sqrt(total / static_cast<float>(cols) + epsilon);
        for (std::size_t c = 0; c < cols; ++c) y[t * cols + c] = row[c] * scale * weight[c];
    }
}

EXA_AVX2 void add(float* x, const float* y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) x[i] += y[i];
}

EXA_AVX2 void silu_mul(float* gate, const float* up, std::size_t n) {
    const __m256 one = _mm256_set1_ps(1.0F);
    const __m256 sign = _mm256_set1_ps(-0.0F);
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 g = _mm256_loadu_ps(gate + i);
        const __m256 silu = _mm256_div_ps(g, _mm256_add_ps(one, exp(_mm256_xor_ps(g, sign))));
        _mm256_storeu_ps(gate + i, _mm256_mul_ps(silu, _mm256_loadu_ps(up + i)));
    }
    if (i == n) return;
    // The same vector code on a padded copy: an element's value must not depend on where the row ends.
    float last[2][8] = {};
    std::memcpy(last[0], gate + i, (n - i) * sizeof(float));
    std::memcpy(last[1], up + i, (n - i) * sizeof(float));
    const __m256 g = _mm256_loadu_ps(last[0]);
    const __m256 silu = _mm256_div_ps(g, _mm256_add_ps(one, exp(_mm256_xor_ps(g, sign))));
    _mm256_storeu_ps(last[0], _mm256_mul_ps(silu, _mm256_loadu_ps(last[1])));
    std::memcpy(gate + i, last[0], (n - i) * sizeof(float));
}

EXA_AVX2 void store_kv(const AttentionShape& shape, const float* k, const float* v, const PagedKv& kv,
                       std::size_t position) {
    std::uint16_t* page = kv.base + kv.page_stride * kv.pages[position / page_tokens];
    const std::size_t slot = position % page_tokens;
    std::uint16_t* values = page + shape.kv_heads * shape.head_dim * page_tokens;
    for (std::size_t h = 0; h < shape.kv_heads; ++h) {
        for (std::size_t i = 0; i < shape.head_dim; i += 8) {
            const std::size_t at = h * shape.head_dim + i;
            alignas(16) std::uint16_t halves[8];
            _mm_store_si128(reinterpret_cast<__m128i*>(halves),
                            _mm256_cvtps_ph(_mm256_loadu_ps(k + at), _MM_FROUND_TO_NEAREST_INT));
            for (std::size_t lane = 0; lane < 8; ++lane) page[(at + lane) * page_tokens + slot] = halves[lane];
            _mm_storeu_si128(reinterpret_cast<__m128i*>(values + (h * page_tokens + slot) * shape.head_dim + i),
                             _mm256_cvtps_ph(_mm256_loadu_ps(v + at), _MM_FROUND_TO_NEAREST_INT));
        }
    }
}

void attend(const AttentionShape& shape, const float* q, const PagedKv& kv, std::size_t position, float* scores,
            float* out) {
    const std::size_t group = shape.heads / shape.kv_heads;
    for (std::size_t kv_head = 0; kv_head < shape.kv_heads; ++kv_head) {
        for (std::size_t h = 0; h < group;) {
            const std::size_t at = (kv_head * group + h) * shape.head_dim;
            const std::size_t left = group - h;
            if (left >= 3)
                attend_heads<3>(shape, kv_head, q + at, kv, position, scores, out + at);
            else if (left == 2)
                attend_heads<2>(shape, kv_head, q + at, kv, position, scores, out + at);
            else
                attend_heads<1>(shape, kv_head, q + at, kv, position, scores, out + at);
            h += left >= 3 ? 3 : left;
        }
    }
}

}  // namespace exa::kernels::avx2

namespace exa::kernels {

bool has_avx2() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}

const Kernels& avx2_kernels() {
    static constexpr Kernels table{"cpu-avx2-1", avx2::quantize, avx2::matmul,   avx2::rms_norm,
                                   avx2::add,    avx2::silu_mul, avx2::store_kv, avx2::attend};
    return table;
}

}  // namespace exa::kernels

#else

#include "families.h"

namespace exa::kernels {

bool has_avx2() {
    return false;
}

const Kernels& avx2_kernels() {
    return portable_kernels();
}

}  // namespace exa::kernels

#endif
