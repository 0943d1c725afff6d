// Vocabulary: what a model file says of its tokens, before any way of merging them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "engine/replica.h"
#include "model/gguf.h"

namespace exa::model {

using engine::TokenId;

// The numbers are those of tokenizer.ggml.token_type.
enum class TokenKind : std::uint8_t { normal = 1, unknown, control, user_defined, unused, byte };

class Vocabulary {
  public:
    // Copies what it needs. errc::metadata_missing or tokenizer_invalid name the key and the token. A token that is
    // spelled as control tokens are but typed as text becomes one: files made by faulty converters would else get wrong
    // prompts and endless answers, and let a message open a turn.
    static Result<Vocabulary> read(const Gguf& gguf);

    Vocabulary(Vocabulary&&) = default;
    Vocabulary& operator=(Vocabulary&&) = default;
    Vocabulary(const Vocabulary&) = delete;
    Vocabulary& operator=(const Vocabulary&) = delete;
    ~Vocabulary() = default;

    std::uint32_t size() const { return static_cast<std::uint32_t>(texts_.size()); }

    // As the file spells it. `token` must be below size(), here and below.
    std::string_view text(TokenId token) const { return texts_[token]; }
    TokenKind kind(TokenId token) const { return kinds_[token]; }
    // SentencePiece's; 0 when the file has none.
    float score(TokenId token) const { return scores_.empty() ? 0 : scores_[token]; }

    // Among the tokens ordinary text may become: never a control, unknown or byte token, so that no text can spell one.
    std::optional<TokenId> find(std::string_view text) const;
    // Tokens that became control tokens, in order of id.
    const std::vector<TokenId>& repaired() const { return repaired_; }

    // Among control, unknown and user-defined tokens; the first of equal spellings.
    std::optional<TokenId> find_special(std::string_view text) const;
    // Of those, in order of id.
    const std::vector<TokenId>& specials() const { return specials_; }
    // In bytes, of the tokens find() can return.
    std::size_t longest() const { return longest_; }

    std::optional<TokenId> bos() const { return bos_; }
    std::optional<TokenId> eos() const { return eos_; }
    std::optional<TokenId> eot() const { return eot_; }
    std::optional<TokenId> unknown() const { return unknown_; }

  private:
    Vocabulary() = default;

    void repair_kinds();

    std::vector<std::string> texts_;
    std::vector<TokenKind> kinds_;
    std::vector<float> scores_;
    std::vector<TokenId> specials_;
    std::vector<TokenId> repaired_;
    // Keys borrow from texts_, which never changes again (and keeps its buffer when moved).
    std::unordered_map<std::string_view, TokenId> by_text_;
    std::unordered_map<std::string_view, TokenId> special_by_text_;
    std::size_t longest_ = 0;
    std::optional<TokenId> bos_;
    std::optional<TokenId> eos_;
    std::optional<TokenId> eot_;
    std::optional<TokenId> unknown_;
};

}  // namespace exa::model
