#include "model/weights.h"

#include <cmath>
#include <cstdio>
#include <set>
#include <utility>

#include "base/hash.h"
#include "kernels/format.h"
#include "model/errc.h"
#include "model/finite.h"

namespace exa::model {

namespace {

using Shape = std::vector<std::uint64_t>;

// Some converters write a dimension of 1 behind the others.
Shape without_ones(Shape shape) {
    while (shape.size() > 1 && shape.back() == 1) shape.pop_back();
    return shape;
}

std::string to_text(const Shape& shape) {
    std::string text = "[";
    for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
    return text + "]";
}

// Two halves of 64 bits: an accident will not make two model files look alike.
std::string digest_of(ByteView file) {
    char text[33];
    std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash64(file, 0)),
                  static_cast<unsigned long long>(hash64(file, 1)));
    return text;
}

kernels::Format format_of(TensorType type) {
    return static_cast<kernels::Format>(type);
}

}  // namespace

class Weights::Loader {
  public:
    Loader(const Gguf& gguf, Weights& weights) : gguf_(gguf), weights_(weights) {}

    Result<void> load() {
        EXA_TRY(weights_.shape_, read_llama_shape(gguf_));
        const LlamaShape& shape = weights_.shape_;
        EXA_TRY(const Tensor* embedding, find("token_embd.weight", {shape.d, shape.vocab}));
        weights_.embedding_ = embedding->data.data();
        weights_.embedding_format_ = format_of(embedding->type);
        EXA_TRY(vector("output_norm.weight", shape.d, weights_.output_norm_));
        const bool tied = gguf_.find("output.weight") == nullptr;
        EXA_TRY(matrix(tied ? "token_embd.weight" : "output.weight", shape.vocab, shape.d, weights_.output_.matrix));
        for (std::uint32_t i = 0; i < shape.layers; ++i) {
            EXA_TRY(layer("blk." + std::to_string(i) + "."));
        }
        EXA_TRY(rope());
        return refuse_unused();
    }

  private:
    // Also notes that it is used.
    Result<const Tensor*> find(const std::string& name, const Shape& expected) {
        const Tensor* tensor = gguf_.find(name);
        if (tensor == nullptr) return error(errc::tensor_missing, "'" + name + "', expected " + to_text(expected));
        if (without_ones(tensor->shape) != without_ones(expected))
            return error(errc::tensor_mismatch,
                         "'" + name + "' expected " + to_text(expected) + ", found " + to_text(tensor->shape));
        const std::size_t rows = expected.size() == 2 ? expected[1] : 1;
        const std::size_t bytes = rows * kernels::row_bytes(format_of(tensor->type), expected[0]);
        if (bytes == 0 || tensor->data.size() != bytes)
            return error(errc::tensor_mismatch, "'" + name + "' expected " + std::to_string(bytes) + " bytes of " +
                                                    std::string(to_string(tensor->type)) + ", found " +
                                                    std::to_string(tensor->data.size()));
        if (used_.insert(name).second && !all_finite(tensor->type, tensor->data))
            return error(errc::tensor_mismatch, "'" + name + "' has values that are no finite numbers");
        return tensor;
    }

    // What the forward pass leaves out would be missing in every answer.
    Result<void> refuse_unused() const {
        for (const Tensor& tensor : gguf_.tensors())
            if (!used_.contains(tensor.name))
                return error(errc::architecture_unsupported,
                             "'" + tensor.name.substr(0, 64) + "' is no tensor of the architecture '" +
                                 weights_.shape_.architecture + "'; " + std::string(other_engine));
        return success();
    }

    Result<void> vector(const std::string& name, std::uint32_t size, std::vector<float>& out) {
        EXA_TRY(const Tensor* tensor, find(name, {size}));
        out.resize(size);
        kernels::dequantize_row(format_of(tensor->type), tensor->data.data(), size, out.data());
        return success();
    }

    Result<void> matrix(const std::string& name, std::uint32_t rows, std::uint32_t cols, kernels::Matrix& out) {
        EXA_TRY(const Tensor* tensor, find(name, {cols, rows}));
        const kernels::Format format = format_of(tensor->type);
        out = {kernels::layout_of(format), rows, cols, tensor->data.data()};
        const std::size_t bytes = kernels::packed_bytes(format, rows, cols);
        if (bytes == 0) return success();
        std::uint8_t* packed = weights_.packed_.allocate(bytes);
        kernels::pack(format, tensor->data.data(), rows, cols, packed);
        out.data = packed;
        return success();
    }

    Result<void> linear(const std::string& name, std::uint32_t rows, std::uint32_t cols, Linear& out) {
        EXA_TRY(matrix(name + ".weight", rows, cols, out.matrix));
        if (gguf_.find(name + ".bias") != nullptr) {
            EXA_TRY(vector(name + ".bias", rows, out.bias));
        }
        return success();
    }

    Result<void> layer(const std::string& prefix) {
        const LlamaShape& shape = weights_.shape_;
        LlamaLayer& layer = weights_.layers_.emplace_back();
        EXA_TRY(vector(prefix + "attn_norm.weight", shape.d, layer.attention_norm));
        EXA_TRY(linear(prefix + "attn_q", shape.q_dim(), shape.d, layer.q));
        EXA_TRY(linear(prefix + "attn_k", shape.kv_dim(), shape.d, layer.k));
        EXA_TRY(linear(prefix + "attn_v", shape.kv_dim(), shape.d, layer.v));
        EXA_TRY(linear(prefix + "attn_output", shape.d, shape.q_dim(), layer.attention_output));
        EXA_TRY(vector(prefix + "ffn_norm.weight", shape.d, layer.ff_norm));
        EXA_TRY(linear(prefix + "ffn_gate", shape.ff, shape.d, layer.gate));
        EXA_TRY(linear(prefix + "ffn_up", shape.ff, shape.d, layer.up));
        EXA_TRY(linear(prefix + "ffn_down", shape.d, shape.ff, layer.down));
        return success();
    }

    Result<void> rope() {
        const LlamaShape& shape = weights_.shape_;
        std::vector<float> factors(shape.rope_pairs, 1.0F);
        if (gguf_.find("rope_freqs.weight") != nullptr) {
            EXA_TRY(vector("rope_freqs.weight", shape.rope_pairs, factors));
        }
        for (std::uint32_t i = 0; i < shape.rope_pairs; ++i) {
            const double frequency = std::pow(shape.rope_base, -static_cast<double>(i) / shape.rope_pairs);
            weights_.rope_steps_.push_back(frequency / (shape.rope_scale * static_cast<double>(factors[i])));
        }
        return success();
    }

    const Gguf& gguf_;
    Weights& weights_;
    std::set<std::string, std::less<>> used_;
};

Result<std::shared_ptr<const Weights>> Weights::load(const Gguf& gguf, ByteView file,
                                                     std::shared_ptr<const void> owner) {
    const std::shared_ptr<Weights> weights(new Weights);
    EXA_TRY(Loader(gguf, *weights).load());
    weights->digest_ = digest_of(file);
    weights->owner_ = std::move(owner);
    return std::shared_ptr<const Weights>(weights);
}

void Weights::embed(std::uint32_t token, float* out) const {
    kernels::dequantize_row(embedding_format_, embedding_ + token * kernels::row_bytes(embedding_format_, shape_.d),
                            shape_.d, out);
}

}  // namespace exa::model
