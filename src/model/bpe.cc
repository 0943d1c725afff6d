#include "model/bpe.h"

#include <string>

#include "model/byte_text.h"
#include "model/errc.h"

namespace exa::model {

namespace {

// Ranks are costs, and a float counts no further than this.
constexpr std::size_t merges_max = std::size_t{1} << 24;

std::uint64_t join_key(TokenId left, TokenId right) {
    return std::uint64_t{left} << 32 | right;
}

Error bad_merge(std::size_t rank, std::string_view merge, const char* why) {
    constexpr std::size_t shown_max = 64;
    return error(errc::tokenizer_invalid, "tokenizer.ggml.merges: merge " + std::to_string(rank) + " '" +
                                              std::string(merge.substr(0, shown_max)) + "' " + why);
}

}  // namespace

Result<Bpe> Bpe::make(const Gguf& gguf, const Vocabulary& vocabulary) {
    Bpe out;
    const std::string_view name = gguf.get_string("tokenizer.ggml.pre").value_or("default");
    const auto pretokenizer = parse_pretokenizer(name);
    if (!pretokenizer)
        return error(errc::tokenizer_unsupported, "tokenizer.ggml.pre: '" + std::string(name.substr(0, 64)) + "'");
    out.pretokenizer_ = *pretokenizer;
    out.whole_words_first_ = *pretokenizer == Pretokenizer::llama_bpe;

    for (std::size_t byte = 0; byte < out.bytes_.size(); ++byte)
        out.bytes_[byte] = vocabulary.find(byte_text(static_cast<std::uint8_t>(byte)));

    const auto merges = gguf.get_strings("tokenizer.ggml.merges");
    if (!merges) return error(errc::metadata_missing, "tokenizer.ggml.merges: an array of strings");
    if (merges->size() > merges_max)
        return error(errc::tokenizer_invalid, "tokenizer.ggml.merges: more than " + std::to_string(merges_max));
    out.joins_.reserve(merges->size());
    for (std::size_t rank = 0; rank < merges->size(); ++rank) {
        const std::string_view merge = (*merges)[rank];
        const std::size_t space = merge.find(' ');
        if (space == std::string_view::npos) return bad_merge(rank, merge, "is not two tokens");
        const std::string_view left_text = merge.substr(0, space);
        const std::string_view right_text = merge.substr(space + 1);
        const auto left = vocabulary.find(left_text);
        const auto right = vocabulary.find(right_text);
        const auto joined = vocabulary.find(std::string(left_text) + std::string(right_text));
        if (!left || !right || !joined) return bad_merge(rank, merge, "is of or makes something that is no token");
        out.joins_.try_emplace(join_key(*left, *right), Join{static_cast<float>(rank), *joined});
    }
    return out;
}

void Bpe::encode(std::string_view text, const Vocabulary& vocabulary, std::size_t tokens_max,
                 std::vector<TokenId>& out) const {
    std::vector<Symbol> symbols;
    split_words(pretokenizer_, text, [&](std::string_view word) {
        const auto whole = whole_words_first_ ? vocabulary.find(to_byte_text(word)) : std::nullopt;
        if (whole)
            out.push_back(*whole);
        else
            encode_word(word, symbols, out);
        return out.size() <= tokens_max;
    });
}

void Bpe::encode_word(std::string_view word, std::vector<Symbol>& symbols, std::vector<TokenId>& out) const {
    symbols.clear();
    for (std::uint32_t i = 0; i < word.size(); ++i)
        symbols.push_back({.begin = i, .size = 1, .token = bytes_[static_cast<std::uint8_t>(word[i])]});
    merge_symbols(symbols, [this](const Symbol& left, const Symbol& right) -> std::optional<Join> {
        if (!left.token || !right.token) return std::nullopt;
        const auto at = joins_.find(join_key(*left.token, *right.token));
        if (at == joins_.end()) return std::nullopt;
        return at->second;
    });
    for (const Symbol& symbol : symbols)
        if (symbol.size != 0 && symbol.token) out.push_back(*symbol.token);
}

}  // namespace exa::model
