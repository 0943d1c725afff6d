#include "model/llama_shape.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "model/errc.h"

namespace exa::model {

namespace {

// Bounds on what a file may claim, far above any model of the family; they keep products within 32 bits.
constexpr std::uint64_t layers_max = 1024;
constexpr std::uint64_t dimension_max = 1U << 20;
constexpr std::uint64_t heads_max = 1024;
constexpr std::uint64_t head_dim_max = 1024;
constexpr std::uint64_t context_min = 2;  // a token of a prompt and one of its answer
constexpr std::uint64_t context_max = 1U << 24;

class Metadata {
  public:
    Metadata(const Gguf& gguf, std::string prefix) : gguf_(gguf), prefix_(std::move(prefix)) {}

    Result<std::uint32_t> count(const std::string& name, std::uint64_t max, std::uint64_t min = 1) const {
        EXA_TRY(const auto value, number(name));
        if (!value) return error(errc::metadata_missing, prefix_ + name);
        return bounded(name, *value, min, max);
    }

    Result<std::uint32_t> count_or(const std::string& name, std::uint64_t fallback, std::uint64_t max) const {
        EXA_TRY(const auto value, number(name));
        return bounded(name, value.value_or(fallback), 1, max);
    }

    Result<double> positive_or(const std::string& name, double fallback) const {
        const double value = gguf_.get_float(prefix_ + name).value_or(fallback);
        if (std::isfinite(value) && value > 0) return value;
        return error(errc::metadata_missing, prefix_ + name + " = " + std::to_string(value) + ", above 0");
    }

    std::string text_or(const std::string& name, std::string fallback) const {
        const auto value = gguf_.get_string(prefix_ + name);
        return value ? std::string(*value) : std::move(fallback);
    }

  private:
    // A number, or a list of one number for each layer if they are all the same.
    Result<std::optional<std::uint64_t>> number(const std::string& name) const {
        const std::string key = prefix_ + name;
        if (!gguf_.has(key)) return std::optional<std::uint64_t>();
        if (const auto value = gguf_.get_uint(key)) return value;
        if (!gguf_.array_size(key)) return error(errc::metadata_missing, key + ": not an unsigned integer");
        const auto list = gguf_.get_ints(key);
        if (!list || list->empty() || list->front() < 0)
            return error(errc::metadata_missing, key + ": not unsigned integers");
        if (std::ranges::count(*list, list->front()) != std::ssize(*list))
            return error(errc::architecture_unsupported, key +
                                                             " differs from layer to layer, which the built-in engine "
                                                             "does not compute; " +
                                                             std::string(other_engine));
        return std::optional(static_cast<std::uint64_t>(list->front()));
    }

    Result<std::uint32_t> bounded(const std::string& name, std::uint64_t value, std::uint64_t min,
                                  std::uint64_t max) const {
        if (value >= min && value <= max) return static_cast<std::uint32_t>(value);
        return error(errc::metadata_missing, prefix_ + name + " = " + std::to_string(value) + ", " +
                                                 std::to_string(min) + " .. " + std::to_string(max));
    }

    const Gguf& gguf_;
    const std::string prefix_;
};

Result<void> read_rope(const Metadata& metadata, LlamaShape& shape) {
    EXA_TRY(const std::uint32_t rotated, metadata.count_or("rope.dimension_count", shape.head_dim, shape.head_dim));
    shape.rope_pairs = std::max(1U, rotated / 2);
    EXA_TRY(shape.rope_base, metadata.positive_or("rope.freq_base", 10'000.0));
    const std::string scaling = metadata.text_or("rope.scaling.type", "none");
    if (scaling == "linear") {
        EXA_TRY(shape.rope_scale, metadata.positive_or("rope.scaling.factor", 1.0));
    } else if (scaling == "none") {
        EXA_TRY(shape.rope_scale, metadata.positive_or("rope.scale_linear", 1.0));
    } else {
        return error(errc::architecture_unsupported,
                     "rope.scaling.type = " + scaling.substr(0, 32) + ", none or linear; " + std::string(other_engine));
    }
    return success();
}

}  // namespace

Result<LlamaShape> read_llama_shape(const Gguf& gguf) {
    LlamaShape shape;
    shape.architecture = gguf.get_string("general.architecture").value_or("");
    if (shape.architecture != "llama" && shape.architecture != "qwen2")
        return error(errc::architecture_unsupported, "general.architecture = '" + shape.architecture.substr(0, 32) +
                                                         "', llama or qwen2; " + std::string(other_engine));
    shape.rope_interleaved = shape.architecture == "llama";

    const Metadata metadata(gguf, shape.architecture + ".");
    if (const auto experts = gguf.get_uint(shape.architecture + ".expert_count"); experts.value_or(0) > 0)
        return error(errc::architecture_unsupported, shape.architecture +
                                                         ".expert_count = " + std::to_string(*experts) +
                                                         ", a mixture of experts; " + std::string(other_engine));
    EXA_TRY(shape.layers, metadata.count("block_count", layers_max));
    EXA_TRY(shape.d, metadata.count("embedding_length", dimension_max));
    EXA_TRY(shape.ff, metadata.count("feed_forward_length", dimension_max));
    EXA_TRY(shape.context, metadata.count("context_length", context_max, context_min));
    EXA_TRY(shape.heads, metadata.count("attention.head_count", heads_max));
    EXA_TRY(shape.kv_heads, metadata.count_or("attention.head_count_kv", shape.heads, shape.heads));
    if (shape.heads % shape.kv_heads != 0)
        return error(errc::metadata_missing, "attention.head_count_kv = " + std::to_string(shape.kv_heads) +
                                                 ", a divisor of " + std::to_string(shape.heads));
    EXA_TRY(shape.head_dim,
            metadata.count_or("attention.key_length", std::max(1U, shape.d / shape.heads), head_dim_max));
    EXA_TRY(const std::uint32_t value_dim, metadata.count_or("attention.value_length", shape.head_dim, head_dim_max));
    if (value_dim != shape.head_dim || shape.head_dim % 8 != 0)
        return error(errc::architecture_unsupported, "key and value length " + std::to_string(shape.head_dim) +
                                                         " and " + std::to_string(value_dim) +
                                                         ", equal multiples of 8");
    EXA_TRY(const double epsilon, metadata.positive_or("attention.layer_norm_rms_epsilon", 1e-5));
    shape.norm_epsilon = static_cast<float>(epsilon);
    EXA_TRY(read_rope(metadata, shape));

    const Tensor* embedding = gguf.find("token_embd.weight");
    if (embedding == nullptr || embedding->shape.size() != 2)
        return error(errc::tensor_missing, "token_embd.weight of 2 dimensions");
    if (embedding->shape[1] > dimension_max * 4)
        return error(errc::tensor_mismatch, "token_embd.weight has " + std::to_string(embedding->shape[1]) + " rows");
    shape.vocab = static_cast<std::uint32_t>(embedding->shape[1]);
    const auto tokens = gguf.array_size("tokenizer.ggml.tokens");
    if (tokens && *tokens != shape.vocab)
        return error(errc::tensor_mismatch, "token_embd.weight has " + std::to_string(shape.vocab) +
                                                " rows for a vocabulary of " + std::to_string(*tokens) + " tokens");
    return shape;
}

}  // namespace exa::model
