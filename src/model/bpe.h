// Bpe: byte-level byte-pair encoding, the "gpt2" tokenizers (Sennrich et al. 2016; bytes: Radford et al. 2019).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/gguf.h"
#include "model/merge.h"
#include "model/pretokenizer.h"
#include "model/vocabulary.h"

namespace exa::model {

class Bpe {
  public:
    // errc::metadata_missing, tokenizer_invalid (a merge of tokens that are none) or tokenizer_unsupported (an unknown
    // tokenizer.ggml.pre).
    static Result<Bpe> make(const Gguf& gguf, const Vocabulary& vocabulary);

    Pretokenizer pretokenizer() const { return pretokenizer_; }

    // Appends the tokens of `text`, any bytes, word by word until `out` has more than `tokens_max`. A byte the
    // vocabulary has no token for is left out, and its neighbours do not join across it (llama.cpp's way; Hugging
    // Face's tokenizers let them). `vocabulary` is the one given to make().
    void encode(std::string_view text, const Vocabulary& vocabulary, std::size_t tokens_max,
                std::vector<TokenId>& out) const;

  private:
    Bpe() = default;
    void encode_word(std::string_view word, std::vector<Symbol>& symbols, std::vector<TokenId>& out) const;

    Pretokenizer pretokenizer_ = Pretokenizer::gpt2;
    // A word that is a token is that token, whatever the merges would make of it.
    bool whole_words_first_ = false;
    std::array<std::optional<TokenId>, 256> bytes_;
    std::unordered_map<std::uint64_t, Join> joins_;  // by left << 32 | right; the cost is the merge's rank
};

}  // namespace exa::model
