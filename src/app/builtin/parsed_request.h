// ParsedGeneration, ParsedEmbedding: what a client's body asks of an engine of this process, once it has been parsed
// and its text tokenised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/replica.h"
#include "model/chat_template.h"
#include "model/tokenizer.h"
#include "openai/embeddings.h"
#include "openai/error.h"
#include "openai/options.h"
#include "openai/responses_request.h"
#include "wire/link_messages.h"

namespace exa::app::builtin {

// Of one request, where no context bounds it: tokenising takes the data plane's thread.
inline constexpr std::size_t text_bytes_max = 1024 * 1024;
inline constexpr std::size_t detokenize_tokens_max = 256 * 1024;
// A prompt that is to be cut has at most so many contexts of tokens.
inline constexpr std::size_t cut_contexts_max = 4;

// What requests are read with.
struct ParseContext {
    const model::Tokenizer& tokenizer;
    const std::optional<model::ChatTemplate>& chat_template;
    const std::string& no_chat_template;  // why there is none
    std::uint32_t context_tokens;
    engine::Abilities abilities;
};

using Tokens = std::vector<engine::TokenId>;

// Text that goes on after prompts.
struct ParsedGeneration {
    openai::Options options;
    std::vector<Tokens> prompts;    // not empty, each shorter than the context; options.n choices each
    std::vector<std::string> echo;  // none, or what the choices of each prompt begin with
    std::optional<openai::ResponseSettings> response;  // of the responses API
};

// `open` is of a chat, a completion or a response.
openai::ApiResult<ParsedGeneration> parse_generation(const wire::Open& open, const ParseContext& with);

struct ParsedEmbedding {
    openai::EmbeddingsRequest request;
    std::vector<Tokens> inputs;  // not empty, each within the context
};

openai::ApiResult<ParsedEmbedding> parse_embedding(const wire::Open& open, const ParseContext& with);

// The JSON that answers a request to tokenize or to detokenize.
openai::ApiResult<std::string> tokenize(const wire::Open& open, const ParseContext& with);
openai::ApiResult<std::string> detokenize(const wire::Open& open, const ParseContext& with);

}  // namespace exa::app::builtin
