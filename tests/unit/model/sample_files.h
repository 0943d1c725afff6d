// Small vocabularies for the tests of tokenizers and templates: metadata alone, no tensors.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "model/byte_text.h"
#include "model/gguf.h"
#include "model/gguf_writer.h"
#include "model/tokenizer.h"

namespace exa::model::samples {

struct Token {
    std::string text;
    TokenKind kind = TokenKind::normal;
    float score = 0;
};

inline void write_tokens(const std::vector<Token>& tokens, bool scores, GgufWriter& writer) {
    std::vector<std::string> texts;
    std::vector<std::int32_t> kinds;
    std::vector<float> all_scores;
    for (const Token& token : tokens) {
        texts.push_back(token.text);
        kinds.push_back(static_cast<std::int32_t>(token.kind));
        all_scores.push_back(token.score);
    }
    writer.set_strings("tokenizer.ggml.tokens", texts);
    writer.set_ints("tokenizer.ggml.token_type", kinds);
    if (scores) writer.set_floats("tokenizer.ggml.scores", all_scores);
}

// Byte-level BPE: `specials` from id 0, the 256 bytes behind them, then one token a merge. Merges are given as plain
// bytes.
inline GgufWriter bpe(const std::vector<Token>& specials,
                      const std::vector<std::pair<std::string, std::string>>& merges, std::string_view pre = "smollm") {
    std::vector<Token> tokens = specials;
    std::vector<std::string> merge_texts;
    for (unsigned byte = 0; byte < 256; ++byte)
        tokens.push_back({.text = std::string(byte_text(static_cast<std::uint8_t>(byte)))});
    for (const auto& [left, right] : merges) {
        tokens.push_back({.text = to_byte_text(left + right)});
        merge_texts.push_back(to_byte_text(left) + " " + to_byte_text(right));
    }
    GgufWriter writer;
    writer.set_string("tokenizer.ggml.model", "gpt2");
    writer.set_string("tokenizer.ggml.pre", pre);
    write_tokens(tokens, false, writer);
    writer.set_strings("tokenizer.ggml.merges", merge_texts);
    return writer;
}

// SentencePiece: <unk>, <s>, </s>, then `pieces`, and behind them the byte tokens if `bytes`.
inline GgufWriter spm(const std::vector<Token>& pieces, bool bytes = true) {
    std::vector<Token> tokens = {
        {"<unk>", TokenKind::unknown}, {"<s>", TokenKind::control}, {"</s>", TokenKind::control}};
    tokens.insert(tokens.end(), pieces.begin(), pieces.end());
    static constexpr std::string_view digits = "0123456789ABCDEF";
    for (std::size_t byte = 0; bytes && byte < 256; ++byte)
        tokens.push_back({std::string("<0x") + digits[byte / 16] + digits[byte % 16] + ">", TokenKind::byte});
    GgufWriter writer;
    writer.set_string("tokenizer.ggml.model", "llama");
    write_tokens(tokens, true, writer);
    writer.set_uint("tokenizer.ggml.unknown_token_id", 0);
    writer.set_uint("tokenizer.ggml.bos_token_id", 1);
    writer.set_uint("tokenizer.ggml.eos_token_id", 2);
    return writer;
}

// Null with a failed check when the file is refused.
inline std::shared_ptr<const Tokenizer> tokenizer_of(const GgufWriter& writer) {
    const Bytes file = writer.finish();
    const auto gguf = Gguf::parse(file);
    if (!gguf) return nullptr;
    auto tokenizer = Tokenizer::make(gguf.value());
    return tokenizer ? tokenizer.value() : nullptr;
}

// Each token's spelling, for readable comparisons.
inline std::vector<std::string> spellings(const Tokenizer& tokenizer, const std::vector<TokenId>& tokens) {
    std::vector<std::string> texts;
    for (const TokenId token : tokens) texts.emplace_back(tokenizer.spelling(token));
    return texts;
}

}  // namespace exa::model::samples
