#include "model/vocabulary.h"

#include <algorithm>
#include <array>
#include <limits>

#include "model/errc.h"

namespace exa::model {

namespace {

// A token id that must lie inside the vocabulary when the file gives one.
Result<std::optional<TokenId>> read_id(const Gguf& gguf, const std::string& key, std::size_t size) {
    if (!gguf.has(key)) return std::optional<TokenId>();
    const auto id = gguf.get_uint(key);
    if (!id) return error(errc::metadata_missing, key + ": not an unsigned integer");
    // Some converters write the largest integer for "none".
    if (*id == std::numeric_limits<std::uint32_t>::max()) return std::optional<TokenId>();
    if (*id >= size)
        return error(errc::tokenizer_invalid,
                     key + ": token " + std::to_string(*id) + " of a vocabulary of " + std::to_string(size));
    return std::optional(static_cast<TokenId>(*id));
}

// What opens and closes turns. A user-defined token is found in any text, so one of these must not be.
constexpr std::array<std::string_view, 12> turn_markup = {
    "<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>",      "<|eom_id|>",
    "<|user|>",     "<|system|>", "<|assistant|>",       "<|end|>",           "<start_of_turn>", "<end_of_turn>"};
constexpr std::array<std::string_view, 9> text_markup = {
    "<s>", "</s>", "<unk>", "<pad>", "<bos>", "<eos>", "<EOT>", "<end_of_utterance>", "<|endoftext|>"};

bool is_turn_markup(std::string_view text) {
    return std::ranges::find(turn_markup, text) != turn_markup.end();
}

// <|name|>, and names that are nothing else in any vocabulary.
bool looks_like_control(std::string_view text) {
    if (is_turn_markup(text) || std::ranges::find(text_markup, text) != text_markup.end()) return true;
    if (text.size() < 5 || text.size() > 64 || !text.starts_with("<|") || !text.ends_with("|>")) return false;
    return std::ranges::all_of(text.substr(2, text.size() - 4), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    });
}

}  // namespace

Result<Vocabulary> Vocabulary::read(const Gguf& gguf) {
    const auto texts = gguf.get_strings("tokenizer.ggml.tokens");
    if (!texts) return error(errc::metadata_missing, "tokenizer.ggml.tokens: an array of strings");
    if (texts->empty() || texts->size() > std::numeric_limits<std::int32_t>::max())
        return error(errc::tokenizer_invalid, "tokenizer.ggml.tokens: " + std::to_string(texts->size()) + " tokens");

    Vocabulary out;
    out.texts_.assign(texts->begin(), texts->end());
    out.kinds_.assign(texts->size(), TokenKind::normal);
    if (gguf.has("tokenizer.ggml.token_type")) {
        const auto kinds = gguf.get_ints("tokenizer.ggml.token_type");
        if (!kinds) return error(errc::metadata_missing, "tokenizer.ggml.token_type: an array of integers");
        if (kinds->size() != texts->size())
            return error(errc::tokenizer_invalid, "tokenizer.ggml.token_type: " + std::to_string(kinds->size()) +
                                                      " kinds for " + std::to_string(texts->size()) + " tokens");
        for (std::size_t i = 0; i < kinds->size(); ++i) {
            const std::int64_t kind = (*kinds)[i];
            if (kind < 0 || kind > 6)
                return error(errc::tokenizer_invalid, "tokenizer.ggml.token_type: kind " + std::to_string(kind) +
                                                          " of token " + std::to_string(i) + ", known are 0 to 6");
            // 0 is "undefined", which converters write for text.
            if (kind != 0) out.kinds_[i] = static_cast<TokenKind>(kind);
        }
    }
    out.repair_kinds();
    if (gguf.has("tokenizer.ggml.scores")) {
        auto scores = gguf.get_floats("tokenizer.ggml.scores");
        if (!scores) return error(errc::metadata_missing, "tokenizer.ggml.scores: an array of floats");
        if (scores->size() != texts->size())
            return error(errc::tokenizer_invalid, "tokenizer.ggml.scores: " + std::to_string(scores->size()) +
                                                      " scores for " + std::to_string(texts->size()) + " tokens");
        out.scores_ = std::move(*scores);
        // They order a queue, and a NaN orders nothing.
        for (float& score : out.scores_)
            if (score != score) score = std::numeric_limits<float>::lowest();
    }

    out.by_text_.reserve(out.texts_.size());
    for (TokenId id = 0; id < out.size(); ++id) {
        const std::string_view text = out.texts_[id];
        const TokenKind kind = out.kinds_[id];
        if (text.empty()) continue;
        if (kind == TokenKind::normal || kind == TokenKind::user_defined || kind == TokenKind::unused) {
            out.by_text_.insert_or_assign(text, id);
            out.longest_ = std::max(out.longest_, text.size());
        }
        if (kind == TokenKind::control || kind == TokenKind::user_defined || kind == TokenKind::unknown) {
            out.special_by_text_.try_emplace(text, id);
            out.specials_.push_back(id);
        }
    }
    EXA_TRY(out.bos_, read_id(gguf, "tokenizer.ggml.bos_token_id", out.size()));
    EXA_TRY(out.eos_, read_id(gguf, "tokenizer.ggml.eos_token_id", out.size()));
    EXA_TRY(out.eot_, read_id(gguf, "tokenizer.ggml.eot_token_id", out.size()));
    EXA_TRY(out.unknown_, read_id(gguf, "tokenizer.ggml.unknown_token_id", out.size()));
    return out;
}

void Vocabulary::repair_kinds() {
    for (TokenId id = 0; id < size(); ++id) {
        const bool is_text = kinds_[id] == TokenKind::normal && looks_like_control(texts_[id]);
        const bool is_turn = kinds_[id] == TokenKind::user_defined && is_turn_markup(texts_[id]);
        if (!is_text && !is_turn) continue;
        kinds_[id] = TokenKind::control;
        repaired_.push_back(id);
    }
}

std::optional<TokenId> Vocabulary::find(std::string_view text) const {
    const auto at = by_text_.find(text);
    if (at == by_text_.end()) return std::nullopt;
    return at->second;
}

std::optional<TokenId> Vocabulary::find_special(std::string_view text) const {
    const auto at = special_by_text_.find(text);
    if (at == special_by_text_.end()) return std::nullopt;
    return at->second;
}

}  // namespace exa::model
