// Weights: everything a Llama-family model knows, checked, laid out for the kernels and shared by all replicas of a
// peer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "kernels/matrix.h"
#include "model/gguf.h"
#include "model/llama_shape.h"
#include "model/weight_arena.h"

namespace exa::model {

// y = W x + bias. The bias is empty where the model has none.
struct Linear {
    kernels::Matrix matrix;
    std::vector<float> bias;
};

struct LlamaLayer {
    std::vector<float> attention_norm;  // [d]
    Linear q;                           // [q_dim, d]
    Linear k;                           // [kv_dim, d]
    Linear v;                           // [kv_dim, d]
    Linear attention_output;            // [d, q_dim]
    std::vector<float> ff_norm;         // [d]
    Linear gate;                        // [ff, d]
    Linear up;                          // [ff, d]
    Linear down;                        // [d, ff]
};

// Immutable and thread-safe.
class Weights {
  public:
    // `gguf` was parsed from `file`, whose bytes stay valid as long as `owner` lives; floating-point matrices are used
    // where they lie, quantised ones are repacked (kernels/matrix.h). Errors name the tensor, what was expected and
    // what was found.
    static Result<std::shared_ptr<const Weights>> load(const Gguf& gguf, ByteView file,
                                                       std::shared_ptr<const void> owner);

    Weights(const Weights&) = delete;
    Weights& operator=(const Weights&) = delete;

    const LlamaShape& shape() const { return shape_; }
    const std::vector<LlamaLayer>& layers() const { return layers_; }
    const std::vector<float>& output_norm() const { return output_norm_; }  // [d]
    const Linear& output() const { return output_; }                        // [vocab, d]
    // Angle of each rotated pair for one step of position; [rope_pairs].
    const std::vector<double>& rope_steps() const { return rope_steps_; }

    // Row `token` of the embedding, which must be below the vocabulary; out: [d].
    void embed(std::uint32_t token, float* out) const;

    // 32 hexadecimal digits of the whole file. Equal digests and kernel families give bit-equal logits.
    const std::string& digest() const { return digest_; }

  private:
    class Loader;
    Weights() = default;

    LlamaShape shape_;
    std::vector<LlamaLayer> layers_;
    std::vector<float> output_norm_;
    Linear output_;
    std::vector<double> rope_steps_;
    kernels::Format embedding_format_ = kernels::Format::f32;
    const std::uint8_t* embedding_ = nullptr;
    std::string digest_;
    WeightArena packed_;
    std::shared_ptr<const void> owner_;
};

}  // namespace exa::model
