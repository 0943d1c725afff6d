#include "kernels/kv_copy.h"

#include <algorithm>

namespace exa::kernels {

namespace {

// Divides the width of a token: head_dim is a multiple of it.
constexpr std::size_t tile = 8;

// Calls copy(keys, values, slot, token, count) for every run of tokens from .. tokens - 1 that lies in one page of one
// layer: keys and values are the page's, `slot` and `token` say where the run begins in the page and in the segment.
template <class Copy>
void for_each_run(const AttentionShape& shape, std::size_t layer, const PagedKv& kv, std::size_t first,
                  std::size_t from, std::size_t tokens, Copy copy) {
    for (std::size_t token = from; token < tokens;) {
        const std::size_t slot = (first + token) % page_tokens;
        const std::size_t count = std::min(page_tokens - slot, tokens - token);
        std::uint16_t* keys =
            kv.base + kv.page_stride * kv.pages[(first + token) / page_tokens] + layer * shape.layer_halves();
        copy(keys, keys + shape.layer_halves() / 2, slot, token, count);
        token += count;
    }
}

}  // namespace

void gather_kv(const AttentionShape& shape, std::size_t layers, const PagedKv& kv, std::size_t first,
               std::size_t tokens, std::uint16_t* segment) {
    const std::size_t width = shape.kv_heads * shape.head_dim;
    for (std::size_t layer = 0; layer < layers; ++layer, segment += 2 * tokens * width) {
        const auto copy = [&](const std::uint16_t* keys, const std::uint16_t* values, std::size_t slot,
                              std::size_t token, std::size_t count) {
            std::uint16_t* k = segment + token * width;
            // In tiles: single halves a token's width apart would each touch a line of the cache.
            for (std::size_t at = 0; at < width; at += tile) {
                std::uint16_t rows[page_tokens][tile];
                for (std::size_t j = 0; j < tile; ++j)
                    for (std::size_t i = 0; i < page_tokens; ++i) rows[i][j] = keys[(at + j) * page_tokens + i];
                for (std::size_t i = 0; i < count; ++i) std::copy_n(rows[slot + i], tile, k + i * width + at);
            }
            std::uint16_t* v = segment + (tokens + token) * width;
            for (std::size_t i = 0; i < count; ++i)
                for (std::size_t h = 0; h < shape.kv_heads; ++h)
                    std::copy_n(values + (h * page_tokens + slot + i) * shape.head_dim, shape.head_dim,
                                v + i * width + h * shape.head_dim);
        };
        for_each_run(shape, layer, kv, first, 0, tokens, copy);
    }
}

void scatter_kv(const AttentionShape& shape, std::size_t layers, const std::uint16_t* segment, std::size_t tokens,
                std::size_t skip, const PagedKv& kv, std::size_t first) {
    const std::size_t width = shape.kv_heads * shape.head_dim;
    for (std::size_t layer = 0; layer < layers; ++layer, segment += 2 * tokens * width) {
        const auto copy = [&](std::uint16_t* keys, std::uint16_t* values, std::size_t slot, std::size_t token,
                              std::size_t count) {
            const std::uint16_t* k = segment + token * width;
            for (std::size_t at = 0; at < width; ++at)
                for (std::size_t i = 0; i < count; ++i) keys[at * page_tokens + slot + i] = k[i * width + at];
            const std::uint16_t* v = segment + (tokens + token) * width;
            for (std::size_t i = 0; i < count; ++i)
                for (std::size_t h = 0; h < shape.kv_heads; ++h)
                    std::copy_n(v + i * width + h * shape.head_dim, shape.head_dim,
                                values + (h * page_tokens + slot + i) * shape.head_dim);
        };
        for_each_run(shape, layer, kv, first, skip, tokens, copy);
    }
}

}  // namespace exa::kernels
