// POST /v1/embeddings: what is asked for, and the vectors as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "openai/error.h"
#include "openai/options.h"
#include "openai/prompt.h"

namespace exa::openai {

enum class EmbeddingFormat : std::uint8_t { numbers, base64 };

struct EmbeddingsRequest {
    std::string model;
    std::vector<Prompt> inputs;  // 1 to Limits::inputs_max, none empty
    EmbeddingFormat format = EmbeddingFormat::numbers;
    std::optional<std::uint32_t> dimensions;             // must be the model's width
    std::optional<std::int64_t> truncate_prompt_tokens;  // parse_truncation()
};

ApiResult<EmbeddingsRequest> parse_embeddings(std::string_view body, const Limits& limits = {});

// The answer, one vector an input in their order. base64 is that of the vector's floats, little endian.
std::string embeddings_json(std::string_view model, std::span<const std::vector<float>> vectors, EmbeddingFormat format,
                            std::uint32_t prompt_tokens);

}  // namespace exa::openai
