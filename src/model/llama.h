// LlamaModel: the forward pass of the Llama family (Touvron et al. 2023) on the CPU, behind engine::Model.
//
// All tokens of a step go through a layer together, so that weights are read once a step, and every kernel reduces each
// output element in an order of its own (kernels/kernels.h): a token's logits are the same bits whether it came alone,
// in a chunk, beside other sequences, or behind a prefix somebody else computed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/model.h"
#include "kernels/kernels.h"
#include "model/weights.h"

namespace exa::model {

class LlamaModel final : public engine::Model {
  public:
    // Owns the KV memory of `pages` pages in binary16; the system hands it out as it is first touched.
    LlamaModel(std::shared_ptr<const Weights> weights, std::uint32_t pages,
               const kernels::Kernels& kernels = kernels::best_kernels());

    std::uint32_t vocab_size() const override { return shape_.vocab; }
    std::uint32_t context_tokens() const override { return shape_.context; }
    std::uint32_t pages() const override { return pages_; }
    std::uint32_t hidden_size() const override { return static_cast<std::uint32_t>(shape_.d); }
    Result<void> forward(std::span<const engine::Slice> slices, std::span<float> logits) override;
    // Normalised, as the output matrix takes them.
    std::span<const float> hidden() const override { return hidden_; }
    std::size_t kv_bytes(std::uint32_t tokens) const override;
    void export_kv(std::span<const engine::PageId> pages, std::uint32_t first, std::uint32_t tokens,
                   std::span<std::uint8_t> out) const override;
    void import_kv(std::span<const engine::PageId> pages, std::uint32_t first, std::uint32_t tokens, std::uint32_t skip,
                   ByteView payload) override;

    // "<digest>/<kernel family>": replicas of equal numerics continue one another's answers bit by bit.
    std::string numerics() const { return weights_->digest() + "/" + kernels_.family; }

    // Of one page, all layers.
    static std::size_t page_bytes(const LlamaShape& shape);

  private:
    // One token of the step.
    struct Row {
        std::uint32_t position;
        const engine::PageId* pages;
        bool wants_logits;
        bool wants_hidden;

        bool wanted() const { return wants_logits || wants_hidden; }
    };

    // What apply() multiplies; its integers are made once, when a quantised matrix asks for them.
    struct Input {
        kernels::Activations activations;
        std::size_t cols = 0;
        bool is_quantized = false;
        std::vector<std::int8_t> high;
        std::vector<std::int8_t> low;
        std::vector<float> scale;
        std::vector<float> sum;
    };

    struct FreeHalves {
        void operator()(std::uint16_t* halves) const;
    };

    kernels::PagedKv kv_of(const engine::PageId* pages) const;
    void gather(std::span<const engine::Slice> slices);
    void attend(std::size_t layer_index, const LlamaLayer& layer);
    void keep_rows(bool (*keeps)(const Row&));
    void take_hidden();
    void feed_forward(const LlamaLayer& layer);
    void rotate(float* heads, std::size_t count) const;
    void normalize(const std::vector<float>& weight);
    // What apply() multiplies from now on: x, [rows_, cols].
    void set_input(const float* x, std::size_t cols);
    void apply(const Linear& linear, float* out);

    const std::shared_ptr<const Weights> weights_;
    const LlamaShape& shape_;
    const kernels::Kernels& kernels_;
    const std::uint32_t pages_;
    const kernels::AttentionShape attention_;
    std::unique_ptr<std::uint16_t[], FreeHalves> kv_;  // [pages, layers, attention_.layer_halves()]

    // Scratch of one step; n tokens.
    std::vector<Row> rows_;        // [n]
    std::vector<float> x_;         // [n, d], the residual stream
    std::vector<float> normed_;    // [n, d]
    std::vector<float> q_;         // [n, q_dim]
    std::vector<float> k_;         // [n, kv_dim]
    std::vector<float> v_;         // [n, kv_dim]
    std::vector<float> attended_;  // [n, q_dim]
    std::vector<float> delta_;     // [n, d], what a half layer adds to x_
    std::vector<float> gate_;      // [n, ff]
    std::vector<float> up_;        // [n, ff]
    std::vector<float> cos_;       // [n, rope_pairs]
    std::vector<float> sin_;       // [n, rope_pairs]
    std::vector<float> scores_;
    std::vector<float> hidden_;  // [tokens that wanted it, d], kept until the next step
    Input input_;
};

}  // namespace exa::model
