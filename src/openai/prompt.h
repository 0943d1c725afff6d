// Prompt: a text or token ids, alone or several in one request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "openai/error.h"
#include "openai/options.h"

namespace exa::openai {

using Prompt = std::variant<std::string, std::vector<std::uint32_t>>;  // ids are not empty

// The member `key`: a string, an array of token ids, or an array of one kind of either, 1 to `prompts_max`.
ApiResult<std::vector<Prompt>> parse_prompts(const Fields& fields, std::string_view key, std::size_t prompts_max);

// The member `key`, an array of token ids; it may be empty.
ApiResult<std::vector<std::uint32_t>> parse_token_ids(const Fields& fields, std::string_view key);

}  // namespace exa::openai
