// Logprobs: how likely the model found the tokens of an answer, as the two APIs write it.
//
// A token's entry depends on the token alone, so that a stream that resumes elsewhere needs nothing of those before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace exa::openai {

struct TokenLogprob {
    std::string bytes;     // of the token, any
    float logprob = 0.0F;  // natural logarithm
    bool operator==(const TokenLogprob&) const = default;
};

struct TokenLogprobs {
    float logprob = 0.0F;
    std::vector<TokenLogprob> top;  // likeliest first, as many as were asked for or fewer
    bool operator==(const TokenLogprobs&) const = default;
};

// {"token","logprob","bytes","top_logprobs"}, of chats and responses. The token's text has U+FFFD where its bytes are
// no UTF-8; what is impossible has -9999.
void append_logprob(std::string& out, std::string_view bytes, const TokenLogprobs& token);

// The `logprobs` object of plain completions: four arrays, one element a token.
class CompletionLogprobs {
  public:
    bool empty() const { return tokens_.empty(); }

    // `text_offset` in code points. Tokens that are no UTF-8 are written as "bytes:\xE2\x82", for the others' sake
    // never equal to one of them.
    void add(std::string_view bytes, const TokenLogprobs& token, std::size_t text_offset);
    // Of a token that follows nothing: null.
    void add_first(std::string_view bytes, std::size_t text_offset);

    std::string json() const;

  private:
    void begin(std::string_view bytes, std::size_t text_offset);

    std::string tokens_;
    std::string token_logprobs_;
    std::string top_logprobs_;
    std::string text_offsets_;
};

}  // namespace exa::openai
