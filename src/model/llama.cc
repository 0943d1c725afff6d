#include "model/llama.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <new>

#include "base/check.h"
#include "engine/errc.h"
#include "kernels/kv_copy.h"

namespace exa::model {

static_assert(kernels::page_tokens == engine::page_tokens);
static_assert(std::endian::native == std::endian::little, "exported KV is little-endian");

namespace {

// Grows and never shrinks: a step's buffers keep the size of the largest step so far.
template <class T>
void grow(std::vector<T>& buffer, std::size_t size) {
    if (buffer.size() < size) buffer.resize(size);
}

std::uint16_t* zeroed_halves(std::size_t count) {
    auto* halves = static_cast<std::uint16_t*>(std::calloc(count, sizeof(std::uint16_t)));
    if (halves == nullptr) throw std::bad_alloc();
    return halves;
}

template <class Half, class Byte>
Half* as_halves(std::span<Byte> bytes, std::size_t size) {
    EXA_CHECK(bytes.size() == size && reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(Half) == 0);
    return reinterpret_cast<Half*>(bytes.data());
}

}  // namespace

void LlamaModel::FreeHalves::operator()(std::uint16_t* halves) const {
    std::free(halves);
}

std::size_t LlamaModel::page_bytes(const LlamaShape& shape) {
    return std::size_t{2} * shape.layers * 2 * shape.kv_dim() * engine::page_tokens;
}

LlamaModel::LlamaModel(std::shared_ptr<const Weights> weights, std::uint32_t pages, const kernels::Kernels& kernels)
    : weights_(std::move(weights)),
      shape_(weights_->shape()),
      kernels_(kernels),
      pages_(pages),
      attention_{shape_.heads, shape_.kv_heads, shape_.head_dim, 1.0F / std::sqrt(static_cast<float>(shape_.head_dim))},
      kv_(zeroed_halves(page_bytes(shape_) / sizeof(std::uint16_t) * pages)) {}

Result<void> LlamaModel::forward(std::span<const engine::Slice> slices, std::span<float> logits) {
    gather(slices);
    const auto wanted = static_cast<std::size_t>(std::ranges::count(rows_, true, &Row::wants_logits));
    EXA_CHECK(logits.size() == wanted * shape_.vocab);
    hidden_.clear();
    for (std::size_t i = 0; i < shape_.layers; ++i) {
        const LlamaLayer& layer = weights_->layers()[i];
        attend(i, layer);
        if (rows_.empty()) return success();
        feed_forward(layer);
    }
    normalize(weights_->output_norm());
    take_hidden();
    keep_rows([](const Row& row) { return row.wants_logits; });
    if (rows_.empty()) return success();
    set_input(normed_.data(), shape_.d);
    apply(weights_->output(), logits.data());
    return success();
}

std::size_t LlamaModel::kv_bytes(std::uint32_t tokens) const {
    return kernels::segment_halves(attention_, shape_.layers, tokens) * sizeof(std::uint16_t);
}

void LlamaModel::export_kv(std::span<const engine::PageId> pages, std::uint32_t first, std::uint32_t tokens,
                           std::span<std::uint8_t> out) const {
    EXA_CHECK(pages.size() * engine::page_tokens >= first + tokens);
    kernels::gather_kv(attention_, shape_.layers, kv_of(pages.data()), first, tokens,
                       as_halves<std::uint16_t>(out, kv_bytes(tokens)));
}

void LlamaModel::import_kv(std::span<const engine::PageId> pages, std::uint32_t first, std::uint32_t tokens,
                           std::uint32_t skip, ByteView payload) {
    EXA_CHECK(pages.size() * engine::page_tokens >= first + tokens);
    kernels::scatter_kv(attention_, shape_.layers, as_halves<const std::uint16_t>(payload, kv_bytes(tokens)), tokens,
                        skip, kv_of(pages.data()), first);
}

// Of the first layer.
kernels::PagedKv LlamaModel::kv_of(const engine::PageId* pages) const {
    return {kv_.get(), attention_.layer_halves() * shape_.layers, pages};
}

void LlamaModel::gather(std::span<const engine::Slice> slices) {
    rows_.clear();
    for (const engine::Slice& slice : slices) {
        EXA_CHECK(!slice.tokens.empty());
        EXA_CHECK(slice.pages.size() * engine::page_tokens >= slice.start + slice.tokens.size());
        for (std::size_t i = 0; i < slice.tokens.size(); ++i)
            rows_.push_back({slice.start + static_cast<std::uint32_t>(i), slice.pages.data(),
                             slice.wants_all_logits || (slice.wants_logits && i + 1 == slice.tokens.size()),
                             slice.wants_hidden});
    }
    const std::size_t n = rows_.size();
    const std::size_t widest = std::max({shape_.d, shape_.q_dim(), shape_.ff});
    grow(x_, n * shape_.d);
    grow(normed_, n * shape_.d);
    grow(q_, n * shape_.q_dim());
    grow(k_, n * shape_.kv_dim());
    grow(v_, n * shape_.kv_dim());
    grow(attended_, n * shape_.q_dim());
    grow(delta_, n * shape_.d);
    grow(gate_, n * shape_.ff);
    grow(up_, n * shape_.ff);
    grow(cos_, n * shape_.rope_pairs);
    grow(sin_, n * shape_.rope_pairs);
    grow(input_.high, n * widest);
    grow(input_.low, n * widest);
    grow(input_.scale, n * widest / kernels::block_cols);
    grow(input_.sum, n * widest / kernels::block_cols);

    std::size_t row = 0;
    for (const engine::Slice& slice : slices)
        for (const engine::TokenId token : slice.tokens) weights_->embed(token, x_.data() + shape_.d * row++);
    for (row = 0; row < n; ++row) {
        for (std::size_t i = 0; i < shape_.rope_pairs; ++i) {
            const double angle = weights_->rope_steps()[i] * rows_[row].position;
            cos_[row * shape_.rope_pairs + i] = static_cast<float>(std::cos(angle));
            sin_[row * shape_.rope_pairs + i] = static_cast<float>(std::sin(angle));
        }
    }
}

void LlamaModel::attend(std::size_t layer_index, const LlamaLayer& layer) {
    normalize(layer.attention_norm);
    set_input(normed_.data(), shape_.d);
    apply(layer.k, k_.data());
    apply(layer.v, v_.data());
    rotate(k_.data(), shape_.kv_heads);

    kernels::PagedKv kv = kv_of(nullptr);
    kv.base += layer_index * attention_.layer_halves();
    for (std::size_t row = 0; row < rows_.size(); ++row) {
        kv.pages = rows_[row].pages;
        kernels_.store_kv(attention_, k_.data() + row * shape_.kv_dim(), v_.data() + row * shape_.kv_dim(), kv,
                          rows_[row].position);
    }
    // After the last layer's keys and values only the tokens of which something is wanted matter.
    if (layer_index + 1 == shape_.layers) {
        keep_rows([](const Row& row) { return row.wanted(); });
        set_input(normed_.data(), shape_.d);
    }
    apply(layer.q, q_.data());
    rotate(q_.data(), shape_.heads);
    for (std::size_t row = 0; row < rows_.size(); ++row) {
        kv.pages = rows_[row].pages;
        grow(scores_, kernels::attention_scratch(attention_, rows_[row].position));
        kernels_.attend(attention_, q_.data() + row * shape_.q_dim(), kv, rows_[row].position, scores_.data(),
                        attended_.data() + row * shape_.q_dim());
    }
    set_input(attended_.data(), shape_.q_dim());
    apply(layer.attention_output, delta_.data());
    kernels_.add(x_.data(), delta_.data(), rows_.size() * shape_.d);
}

void LlamaModel::take_hidden() {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
        if (!rows_[row].wants_hidden) continue;
        const float* state = normed_.data() + row * shape_.d;
        hidden_.insert(hidden_.end(), state, state + shape_.d);
    }
}

void LlamaModel::keep_rows(bool (*keeps)(const Row&)) {
    std::size_t kept = 0;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
        if (!keeps(rows_[row])) continue;
        const auto move = [&](std::vector<float>& buffer, std::size_t cols) {
            std::copy_n(buffer.data() + row * cols, cols, buffer.data() + kept * cols);
        };
        if (kept != row) {
            move(x_, shape_.d);
            move(normed_, shape_.d);
            move(cos_, shape_.rope_pairs);
            move(sin_, shape_.rope_pairs);
            rows_[kept] = rows_[row];
        }
        ++kept;
    }
    rows_.resize(kept);
}

void LlamaModel::feed_forward(const LlamaLayer& layer) {
    normalize(layer.ff_norm);
    set_input(normed_.data(), shape_.d);
    apply(layer.gate, gate_.data());
    apply(layer.up, up_.data());
    for (std::size_t row = 0; row < rows_.size(); ++row)
        kernels_.silu_mul(gate_.data() + row * shape_.ff, up_.data() + row * shape_.ff, shape_.ff);
    set_input(gate_.data(), shape_.ff);
    apply(layer.down, delta_.data());
    kernels_.add(x_.data(), delta_.data(), rows_.size() * shape_.d);
}

void LlamaModel::rotate(float* heads, std::size_t count) const {
    for (std::size_t row = 0; row < rows_.size(); ++row)
        kernels::rope(heads + row * count * shape_.head_dim, count, shape_.head_dim,
                      cos_.data() + row * shape_.rope_pairs, sin_.data() + row * shape_.rope_pairs, shape_.rope_pairs,
                      shape_.rope_interleaved);
}

void LlamaModel::normalize(const std::vector<float>& weight) {
    kernels_.rms_norm(x_.data(), weight.data(), shape_.norm_epsilon, rows_.size(), shape_.d, normed_.data());
}

void LlamaModel::set_input(const float* x, std::size_t cols) {
    input_.activations = {x, input_.high.data(), input_.low.data(), input_.scale.data(), input_.sum.data()};
    input_.cols = cols;
    input_.is_quantized = false;
}

void LlamaModel::apply(const Linear& linear, float* out) {
    EXA_CHECK(linear.matrix.cols == input_.cols);
    if (kernels::is_quantized(linear.matrix.layout) && !input_.is_quantized) {
        kernels_.quantize(input_.activations, rows_.size(), input_.cols);
        input_.is_quantized = true;
    }
    kernels_.matmul(linear.matrix, input_.activations, rows_.size(), out);
    if (linear.bias.empty()) return;
    for (std::size_t row = 0; row < rows_.size(); ++row)
        kernels_.add(out + row * linear.matrix.rows, linear.bias.data(), linear.bias.size());
}

}  // namespace exa::model
