// A random-weight model loaded from memory, for tests of the forward pass.
#pragma once

#include <memory>
#include <numeric>
#include <vector>

#include "base/check.h"
#include "model/llama.h"
#include "model/tiny_model.h"

namespace exa::model::test {

inline std::shared_ptr<const Weights> tiny_weights(const TinyModelSpec& spec) {
    auto made = make_tiny_model(spec);
    EXA_CHECK(made.has_value());
    const auto file = std::make_shared<const Bytes>(std::move(made.value()));
    const auto gguf = Gguf::parse(*file);
    EXA_CHECK(gguf.has_value());
    auto weights = Weights::load(gguf.value(), *file, file);
    EXA_CHECK(weights.has_value());
    return weights.value();
}

inline std::vector<engine::PageId> page_run(std::uint32_t first, std::size_t tokens) {
    std::vector<engine::PageId> pages((tokens + engine::page_tokens - 1) / engine::page_tokens);
    std::iota(pages.begin(), pages.end(), first);
    return pages;
}

// Logits of the last of `tokens`, computed in one call on `pages`.
inline std::vector<float> one_shot(LlamaModel& model, const std::vector<engine::TokenId>& tokens,
                                   const std::vector<engine::PageId>& pages) {
    std::vector<float> logits(model.vocab_size());
    const engine::Slice slice{tokens, 0, pages, true};
    EXA_CHECK(model.forward({&slice, 1}, logits).has_value());
    return logits;
}

}  // namespace exa::model::test
