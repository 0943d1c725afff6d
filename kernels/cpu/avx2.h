// What the AVX2 family's sources share. They are compiled for the baseline processor and switch the instruction set on
// function by function, so that nothing of it leaks into code that runs before the choice is made.
#pragma once

#if defined(__x86_64__)

#include <immintrin.h>

#include "kernels/kernels.h"

#define EXA_AVX2 __attribute__((target("avx2,fma,f16c")))
#define EXA_AVX2_INLINE __attribute__((target("avx2,fma,f16c"), always_inline)) inline

namespace exa::kernels::avx2 {

void matmul(const Matrix& w, const Activations& x, std::size_t tokens, float* y);
void quantize(const Activations& out, std::size_t tokens, std::size_t cols);
void rms_norm(const float* x, const float* weight, float epsilon, std::size_t tokens, std::size_t cols, float* y);
void add(float* x, const float* y, std::size_t n);
void silu_mul(float* gate, const float* up, std::size_t n);
void store_kv(const AttentionShape& shape, const float* k, const float* v, const PagedKv& kv, std::size_t position);
void attend(const AttentionShape& shape, const float* q, const PagedKv& kv, std::size_t position, float* scores,
            float* out);

// Lanes are folded 8 -> 4 -> 2 -> 1, always in this order.
EXA_AVX2_INLINE float sum_lanes(__m256 v) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

EXA_AVX2_INLINE float max_lanes(__m256 v) {
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

// e^x within 2 ulp, 0 below -87.3, infinite above 88; x = n ln 2 + r, |r| <= ln 2 / 2, and the Taylor series of e^r to
// r^7.
EXA_AVX2_INLINE __m256 exp(__m256 x) {
    const __m256 lowest = _mm256_set1_ps(-87.3F);
    const __m256 highest = _mm256_set1_ps(88.0F);
    const __m256 clamped = _mm256_min_ps(highest, _mm256_max_ps(lowest, x));
    const __m256 n = _mm256_round_ps(_mm256_mul_ps(clamped, _mm256_set1_ps(0x1.715476p+0F)),
                                     _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    // ln 2 in two parts: n times the first is exact.
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0x1.62e4p-1F), clamped);
    r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0x1.7f7d1cp-20F), r);
    __m256 e = _mm256_set1_ps(1.0F / 5040);
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(1.0F / 720));
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(1.0F / 120));
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(1.0F / 24));
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(1.0F / 6));
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(0.5F));
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(1.0F));
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(1.0F));
    const __m256i power = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
    const __m256 scaled = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(e), power));
    const __m256 infinity = _mm256_set1_ps(__builtin_inff());
    const __m256 bounded = _mm256_blendv_ps(scaled, infinity, _mm256_cmp_ps(x, highest, _CMP_GT_OQ));
    return _mm256_andnot_ps(_mm256_cmp_ps(x, lowest, _CMP_LT_OQ), bounded);
}

}  // namespace exa::kernels::avx2

#endif
