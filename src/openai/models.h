// The JSON of GET /v1/models and GET /v1/models/{id}.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace exa::openai {

struct Model {
    std::string id;                    // as requests name it
    std::int64_t created = 0;          // Unix seconds
    std::uint32_t context_tokens = 0;  // longest prompt plus answer; sent as max_model_len, 0 leaves it out
};

// In the order given: the caller sorts, so that every peer lists alike.
std::string models_json(std::span<const Model> models);

std::string model_json(const Model& model);

}  // namespace exa::openai
