// Kernels: the arithmetic of a transformer step, one table a kernel family.
//
// Batch-invariant: an output element is reduced in one order that depends on its own token alone, never on the number
// of tokens in the call or on what the other tokens are. Within a family equal inputs give equal bits; between families
// (the portable one has no fused multiply-add) they agree only to rounding, which is why the family is part of a
// replica's numerics id. All pointers are to the caller's memory, no call allocates, and all are reentrant.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/matrix.h"

namespace exa::kernels {

inline constexpr std::size_t page_tokens = 16;

// One layer's part of a KV page, in binary16: K as [kv_heads, head_dim, 16 tokens], then V as
// [kv_heads, 16 tokens, head_dim]. K lies across so that the scores of 16 tokens are summed side by side.
struct AttentionShape {
    std::size_t heads = 0;
    std::size_t kv_heads = 0;  // divides heads
    std::size_t head_dim = 0;  // a multiple of 8
    float scale = 1.0F;

    std::size_t layer_halves() const { return 2 * kv_heads * head_dim * page_tokens; }
};

// Where one layer's KV of one sequence lies: page p of the sequence is at base + page_stride * pages[p].
struct PagedKv {
    std::uint16_t* base = nullptr;
    std::size_t page_stride = 0;  // in halves
    const std::uint32_t* pages = nullptr;
};

struct Kernels {
    const char* family;

    // Fills high, low, scale and sum of `out` from out.x: [tokens, cols], cols a multiple of 32.
    void (*quantize)(const Activations& out, std::size_t tokens, std::size_t cols);

    // y[t, r] = sum over c of w[r, c] * x[t, c]; y: [tokens, w.rows].
    void (*matmul)(const Matrix& w, const Activations& x, std::size_t tokens, float* y);

    // y[t] = x[t] / sqrt(mean(x[t]^2) + epsilon) * weight (Zhang and Sennrich 2019). x, y: [tokens, cols]; may alias.
    void (*rms_norm)(const float* x, const float* weight, float epsilon, std::size_t tokens, std::size_t cols,
                     float* y);

    // x += y; [n].
    void (*add)(float* x, const float* y, std::size_t n);

    // gate = gate * sigmoid(gate) * up (SwiGLU, Shazeer 2020); [n].
    void (*silu_mul)(float* gate, const float* up, std::size_t n);

    // Writes k and v, [kv_heads, head_dim] each, of the token at `position`.
    void (*store_kv)(const AttentionShape& shape, const float* k, const float* v, const PagedKv& kv,
                     std::size_t position);

    // Softmax attention of one token at `position` over positions 0 .. position.
    // q, out: [heads, head_dim]. scores: scratch of attention_scratch(shape, position) floats.
    void (*attend)(const AttentionShape& shape, const float* q, const PagedKv& kv, std::size_t position, float* scores,
                   float* out);
};

std::size_t attention_scratch(const AttentionShape& shape, std::size_t position);

// Rotates the first 2 * pairs of each head's head_dim elements (RoPE, Su et al. 2021). x: [heads, head_dim];
// cos, sin: [pairs]. Neighbours (2i, 2i + 1) when `interleaved`, else (i, i + pairs).
void rope(float* x, std::size_t heads, std::size_t head_dim, const float* cos, const float* sin, std::size_t pairs,
          bool interleaved);

// The fastest family this processor runs, and the one every processor runs.
const Kernels& best_kernels();
const Kernels& portable_kernels();

}  // namespace exa::kernels
