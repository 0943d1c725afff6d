// Tokenizer: text to tokens and back, as the model file says. Immutable: any thread may use one.
//
// Text is bytes. It need not be valid UTF-8, nor does a single token's: only whole answers are.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/bpe.h"
#include "model/gguf.h"
#include "model/spm.h"
#include "model/vocabulary.h"

namespace exa::model {

// Whoever needs no more than so many tokens says so: encoding stops at a word once there are more.
inline constexpr std::size_t all_tokens = std::numeric_limits<std::size_t>::max();

struct EncodeOptions {
    bool add_bos = false;        // the beginning-of-text token first, if the model file asks for one
    bool parse_special = false;  // the names of control tokens in the text are those tokens; never for a client's text
    std::size_t tokens_max = all_tokens;
};

// A stretch of a longer text. Words and merges cross from one segment to the next as if the text were whole.
struct TextSegment {
    std::string_view text;
    bool parse_special = false;
};

class Tokenizer {
  public:
    // Keeps nothing of `gguf`. errc::metadata_missing, tokenizer_invalid or tokenizer_unsupported.
    static Result<std::shared_ptr<const Tokenizer>> make(const Gguf& gguf);

    // `text` is below 1 GiB. O(n log n). More than `tokens_max` tokens are the first of them, and of no use but to be
    // counted as too many.
    std::vector<TokenId> encode(std::string_view text, EncodeOptions options = {}) const;
    std::vector<TokenId> encode(std::span<const TextSegment> segments, bool add_bos,
                                std::size_t tokens_max = all_tokens) const;

    // Appends what `token` says: raw bytes, perhaps a part of a character. Control tokens say their name if `special`
    // and nothing otherwise; so do numbers that are no token.
    void append_piece(TokenId token, std::string& out, bool special) const;
    std::string decode(std::span<const TokenId> tokens, bool special = false) const;

    // Whether it ends an answer: end of text, end of turn, and the control tokens known to mean either.
    bool is_end(TokenId token) const { return token < ends_.size() && ends_[token]; }
    // Every token of which is_end() holds, in order.
    std::vector<TokenId> end_tokens() const;

    std::optional<TokenId> bos() const { return vocabulary_.bos(); }
    std::optional<TokenId> eos() const { return vocabulary_.eos(); }
    std::optional<TokenId> eot() const { return vocabulary_.eot(); }
    // Tokens that the file types as text and that are control tokens all the same (Vocabulary::read()).
    const std::vector<TokenId>& repaired() const { return vocabulary_.repaired(); }
    // A control or user-defined token by its spelling.
    std::optional<TokenId> find_special(std::string_view text) const { return vocabulary_.find_special(text); }
    std::string_view spelling(TokenId token) const { return vocabulary_.text(token); }  // of a token below size()
    std::uint32_t size() const { return vocabulary_.size(); }
    // What a text of so many bytes has at least. O(1): a text far too long is refused without encoding it.
    std::size_t tokens_at_least(std::size_t bytes) const { return bytes / longest_piece_; }

  private:
    Tokenizer(Vocabulary vocabulary, std::variant<Bpe, Spm> merger, bool add_bos);

    std::optional<TokenId> special_at(std::string_view text, bool parse_special) const;

    Vocabulary vocabulary_;
    std::variant<Bpe, Spm> merger_;
    bool add_bos_ = false;
    std::vector<TokenId> specials_;                                                // by first byte, the longer first
    std::array<std::pair<std::uint32_t, std::uint32_t>, 256> specials_by_byte_{};  // ranges of specials_
    std::vector<std::string> pieces_;
    std::size_t longest_piece_ = 1;  // bytes of text that one token can stand for
    std::vector<bool> ends_;
};

}  // namespace exa::model
