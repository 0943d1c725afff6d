// Spm: SentencePiece's BPE model (Kudo and Richardson 2018), the "llama" tokenizers: pieces join by best score, and a
// character without a piece becomes byte tokens.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/gguf.h"
#include "model/merge.h"
#include "model/vocabulary.h"

namespace exa::model {

class Spm {
  public:
    // errc::metadata_missing when the file has no scores.
    static Result<Spm> make(const Gguf& gguf, const Vocabulary& vocabulary);

    // Appends the tokens of `text`, any bytes, with one space put in front when the file wants that and `starts` (the
    // text follows nothing or a special token), until `out` has more than `tokens_max`. `vocabulary` is the one given
    // to make().
    void encode(std::string_view text, bool starts, const Vocabulary& vocabulary, std::size_t tokens_max,
                std::vector<TokenId>& out) const;

    // The byte a byte token stands for; nothing for other tokens.
    static std::optional<char> byte_of(const Vocabulary& vocabulary, TokenId token);

    // A piece's text: its spelling with U+2581 as a space.
    static std::string from_piece(std::string_view piece);

  private:
    Spm() = default;

    void encode_stretch(std::string_view stretch, const Vocabulary& vocabulary, std::vector<TokenId>& out) const;

    bool space_prefix_ = true;
    // No piece has a space behind something else, so none crosses the beginning of a word.
    bool pieces_end_at_words_ = true;
    std::array<std::optional<TokenId>, 256> bytes_;
};

}  // namespace exa::model
