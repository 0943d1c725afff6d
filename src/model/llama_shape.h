// LlamaShape: the dimensions and constants of a Llama-family model, as its GGUF metadata give them.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/gguf.h"

namespace exa::model {

struct LlamaShape {
    std::string architecture;  // "llama" or "qwen2"
    std::uint32_t layers = 0;
    std::uint32_t d = 0;  // embedding length
    std::uint32_t heads = 0;
    std::uint32_t kv_heads = 0;  // divides heads
    std::uint32_t head_dim = 0;  // a multiple of 8
    std::uint32_t ff = 0;
    std::uint32_t vocab = 0;
    std::uint32_t context = 0;  // tokens it was trained for
    float norm_epsilon = 0;
    std::uint32_t rope_pairs = 0;  // leading pairs of a head that are rotated, at most head_dim / 2
    double rope_base = 0;
    double rope_scale = 1;         // positions are divided by it (linear scaling)
    bool rope_interleaved = true;  // pairs (2i, 2i + 1), else (i, i + rope_pairs)

    std::uint32_t q_dim() const { return heads * head_dim; }
    std::uint32_t kv_dim() const { return kv_heads * head_dim; }
};

// errc::architecture_unsupported, metadata_missing or tensor_missing; the detail names the key, the value and the
// range.
Result<LlamaShape> read_llama_shape(const Gguf& gguf);

}  // namespace exa::model
