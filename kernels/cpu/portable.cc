// The portable family: plain C++ that every compiler and processor runs, and the yardstick of the fast ones.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "families.h"

namespace exa::kernels {

namespace {

void quantize(const Activations& out, std::size_t tokens, std::size_t cols) {
    for (std::size_t block = 0; block < tokens * cols / block_cols; ++block) {
        const float* x = out.x + block * block_cols;
        float largest = 0;
        float poison = 0;
        for (std::size_t i = 0; i < block_cols; ++i) {
            largest = std::max(largest, std::fabs(x[i]));
            // Infinity and NaN become NaN and spoil the whole block's scale: they must not pass for numbers.
            poison += x[i] * 0.0F;
        }
        // Below that the division would overflow; such a block counts as zero.
        const float inverse = largest > 0x1.0p-100F && poison == 0 ? activation_max / largest : 0.0F;
        int sum = 0;
        for (std::size_t i = 0; i < block_cols; ++i) {
            const float scaled = inverse > 0 ? x[i] * inverse : 0.0F;
            const int value = static_cast<int>(std::nearbyint(scaled));
            const int high = (value + 64) >> 7;
            out.high[block * block_cols + i] = static_cast<std::int8_t>(high);
            out.low[block * block_cols + i] = static_cast<std::int8_t>(value - 128 * high);
            sum += value;
        }
        out.scale[block] = largest / activation_max + poison;
        out.sum[block] = out.scale[block] * static_cast<float>(sum);
    }
}

float load_weight(const std::uint8_t* row, Layout layout, std::size_t col) {
    if (layout == Layout::rows_f32) {
        float value;
        std::memcpy(&value, row + 4 * col, sizeof value);
        return value;
    }
    std::uint16_t bits;
    std::memcpy(&bits, row + 2 * col, sizeof bits);
    if (layout == Layout::rows_f16) return half_to_float(bits);
    const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
}

void matmul_rows(const Matrix& w, const Activations& x, std::size_t tokens, float* y) {
    const std::size_t stride = w.cols * (w.layout == Layout::rows_f32 ? 4 : 2);
    for (std::size_t r = 0; r < w.rows; ++r) {
        const std::uint8_t* row = w.data + r * stride;
        for (std::size_t t = 0; t < tokens; ++t) {
            float sum = 0;
            for (std::size_t c = 0; c < w.cols; ++c) sum += load_weight(row, w.layout, c) * x.x[t * w.cols + c];
            y[t * w.rows + r] = sum;
        }
    }
}

float tile_scale(const std::uint8_t* scales, bool wide, std::size_t row) {
    if (!wide) return half_to_float(static_cast<std::uint16_t>(scales[2 * row] | scales[2 * row + 1] << 8));
    float value;
    std::memcpy(&value, scales + 4 * row, sizeof value);
    return value;
}

// One row of one block against 32 activations, block `at` of x: the part of the sum it adds.
float block_dot(Layout layout, const std::uint8_t* block, std::size_t row, const Activations& x, std::size_t at) {
    const bool wide = layout != Layout::tiles_4 && layout != Layout::tiles_8;
    const bool nibbles = layout == Layout::tiles_4 || layout == Layout::tiles_4_wide;
    const std::size_t scale_bytes = wide ? 32 : 16;
    const std::uint8_t* weights = block + (layout == Layout::tiles_8 ? 16 : 2 * scale_bytes);
    int dots[2] = {0, 0};
    for (std::size_t c = 0; c < block_cols; ++c) {
        int weight;
        if (nibbles) {
            const int byte = weights[c % 16 / 4 * 32 + row * 4 + c % 4];
            weight = c < 16 ? byte & 15 : byte >> 4;
        } else {
            weight = static_cast<std::int8_t>(weights[c / 4 * 32 + row * 4 + c % 4]);
        }
        dots[c / 16] += weight * (128 * x.high[at * block_cols + c] + x.low[at * block_cols + c]);
    }
    const float d = tile_scale(block, wide, row);
    const float scale = x.scale[at];
    if (layout == Layout::tiles_8) return static_cast<float>(dots[0] + dots[1]) * (d * scale);
    const float second = tile_scale(block + scale_bytes, wide, row);
    if (layout == Layout::tiles_8_halves)
        return static_cast<float>(dots[0]) * (d * scale) + static_cast<float>(dots[1]) * (second * scale);
    return static_cast<float>(dots[0] + dots[1]) * (d * scale) + second * x.sum[at];
}

void matmul_tiles(const Matrix& w, const Activations& x, std::size_t tokens, float* y) {
    const std::size_t blocks = w.cols / block_cols;
    const std::size_t stride = block_bytes(w.layout);
    for (std::size_t r = 0; r < w.rows; ++r) {
        const std::uint8_t* tile = w.data + r / tile_rows * blocks * stride;
        for (std::size_t t = 0; t < tokens; ++t) {
            float total = 0;
            for (std::size_t b = 0; b < blocks; ++b) {
                total += block_dot(w.layout, tile + b * stride, r % tile_rows, x, t * blocks + b);
            }
            y[t * w.rows + r] = total;
        }
    }
}

void matmul(const Matrix& w, const Activations& x, std::size_t tokens, float* y) {
    if (is_quantized(w.layout))
        matmul_tiles(w, x, tokens, y);
    else
        matmul_rows(w, x, tokens, y);
}

void rms_norm(const float* x, const float* weight, float epsilon, std::size_t tokens, std::size_t cols, float* y) {
    for (std::size_t t = 0; t < tokens; ++t) {
        const float* row = x + t * cols;
        float squares = 0;
        for (std::size_t c = 0; c < cols; ++c) squares += row[c] * row[c];
        const float scale = 1.0F / std::sqrt(squares / static_cast<float>(cols) + epsilon);
        for (std::size_t c = 0; c < cols; ++c) y[t * cols + c] = row[c] * scale * weight[c];
    }
}

void add(float* x, const float* y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) x[i] += y[i];
}

void silu_mul(float* gate, const float* up, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) gate[i] = gate[i] / (1.0F + std::exp(-gate[i])) * up[i];
}

void store_kv(const AttentionShape& shape, const float* k, const float* v, const PagedKv& kv, std::size_t position) {
    std::uint16_t* page = kv.base + kv.page_stride * kv.pages[position / page_tokens];
    const std::size_t slot = position % page_tokens;
    std::uint16_t* values = page + shape.kv_heads * shape.head_dim * page_tokens;
    for (std::size_t h = 0; h < shape.kv_heads; ++h) {
        for (std::size_t i = 0; i < shape.head_dim; ++i) {
            const std::size_t at = h * shape.head_dim + i;
            page[at * page_tokens + slot] = float_to_half(k[at]);
            values[(h * page_tokens + slot) * shape.head_dim + i] = float_to_half(v[at]);
        }
    }
}

void attend(const AttentionShape& shape, const float* q, const PagedKv& kv, std::size_t position, float* scores,
            float* out) {
    const std::size_t group = shape.heads / shape.kv_heads;
    const std::size_t page_values = shape.kv_heads * shape.head_dim * page_tokens;
    for (std::size_t h = 0; h < shape.heads; ++h) {
        const std::size_t offset = h / group * shape.head_dim * page_tokens;
        float largest = -INFINITY;
        for (std::size_t p = 0; p <= position; ++p) {
            const std::uint16_t* keys = kv.base + kv.page_stride * kv.pages[p / page_tokens] + offset;
            float score = 0;
            for (std::size_t i = 0; i < shape.head_dim; ++i)
                score += q[h * shape.head_dim + i] * half_to_float(keys[i * page_tokens + p % page_tokens]);
            scores[p] = score * shape.scale;
            largest = std::max(largest, scores[p]);
        }
        float sum = 0;
        for (std::size_t p = 0; p <= position; ++p) sum += scores[p] = std::exp(scores[p] - largest);
        float* head = out + h * shape.head_dim;
        std::fill_n(head, shape.head_dim, 0.0F);
        for (std::size_t p = 0; p <= position; ++p) {
            const std::uint16_t* values = kv.base + kv.page_stride * kv.pages[p / page_tokens] + page_values + offset +
                                          p % page_tokens * shape.head_dim;
            for (std::size_t i = 0; i < shape.head_dim; ++i) head[i] += scores[p] * half_to_float(values[i]);
        }
        for (std::size_t i = 0; i < shape.head_dim; ++i) head[i] /= sum;
    }
}

}  // namespace

const Kernels& portable_kernels() {
    static constexpr Kernels table{"cpu-portable-1", quantize, matmul, rms_norm, add, silu_mul, store_kv, attend};
    return table;
}

}  // namespace exa::kernels
