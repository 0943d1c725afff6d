// KvCopy: keys and values of a run of tokens, between the pages that a step computes them in and one contiguous
// segment.
//
// A segment is [layers][k, v][tokens][kv_heads][head_dim] in binary16, so that a layer lies in one piece and loading
// can follow the layers. Bits are copied, never converted. No call allocates, and all are reentrant.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace exa::kernels {

inline constexpr std::size_t segment_halves(const AttentionShape& shape, std::size_t layers, std::size_t tokens) {
    return layers * 2 * tokens * shape.kv_heads * shape.head_dim;
}

// segment: [segment_halves(shape, layers, tokens)], of positions first .. first + tokens - 1. `kv` is that of the first
// layer, the others lie behind it, shape.layer_halves() apart.
void gather_kv(const AttentionShape& shape, std::size_t layers, const PagedKv& kv, std::size_t first,
               std::size_t tokens, std::uint16_t* segment);

// The way back, but for the first `skip` tokens of the segment: their pages are not written.
void scatter_kv(const AttentionShape& shape, std::size_t layers, const std::uint16_t* segment, std::size_t tokens,
                std::size_t skip, const PagedKv& kv, std::size_t first);

}  // namespace exa::kernels
