#include "model/spm.h"

#include <charconv>
#include <string>

#include "model/errc.h"
#include "model/unicode.h"

namespace exa::model {

namespace {

constexpr std::string_view space_piece = "\xe2\x96\x81";  // U+2581

std::string to_pieces(std::string_view text, bool space_first) {
    std::string out;
    out.reserve(text.size() + text.size() / 2);
    if (space_first) out += space_piece;
    for (const char c : text) {
        if (c == ' ')
            out += space_piece;
        else
            out += c;
    }
    return out;
}

// Where the first space behind something else stands, from `at` on; the text's end if there is none.
std::size_t next_word(std::string_view pieces, std::size_t at) {
    bool in_word = false;
    while (at < pieces.size()) {
        const bool is_space = pieces.substr(at).starts_with(space_piece);
        if (is_space && in_word) return at;
        in_word = in_word || !is_space;
        at += is_space ? space_piece.size() : 1;
    }
    return at;
}

}  // namespace

Result<Spm> Spm::make(const Gguf& gguf, const Vocabulary& vocabulary) {
    if (!gguf.has("tokenizer.ggml.scores"))
        return error(errc::metadata_missing, "tokenizer.ggml.scores: an array of floats");
    Spm out;
    out.space_prefix_ = gguf.get_bool("tokenizer.ggml.add_space_prefix").value_or(true);
    for (TokenId token = 0; token < vocabulary.size(); ++token)
        if (const auto byte = byte_of(vocabulary, token)) out.bytes_[static_cast<std::uint8_t>(*byte)] = token;
    for (TokenId token = 0; token < vocabulary.size() && out.pieces_end_at_words_; ++token) {
        const std::string_view text = vocabulary.text(token);
        if (vocabulary.find(text)) out.pieces_end_at_words_ = next_word(text, 0) == text.size();
    }
    return out;
}

void Spm::encode(std::string_view text, bool starts, const Vocabulary& vocabulary, std::size_t tokens_max,
                 std::vector<TokenId>& out) const {
    const std::string whole = to_pieces(text, starts && space_prefix_);
    for (std::size_t at = 0; at < whole.size() && out.size() <= tokens_max;) {
        const std::size_t end = pieces_end_at_words_ ? next_word(whole, at) : whole.size();
        encode_stretch(std::string_view(whole).substr(at, end - at), vocabulary, out);
        at = end;
    }
}

void Spm::encode_stretch(std::string_view whole, const Vocabulary& vocabulary, std::vector<TokenId>& out) const {
    std::vector<Symbol> symbols;
    symbols.reserve(whole.size());
    for (std::uint32_t at = 0; at < whole.size();) {
        const std::uint32_t size = first_code_point(whole.substr(at)).size;
        Symbol symbol{.begin = at, .size = size, .token = {}};
        symbol.token = vocabulary.find(symbol.text(whole));
        symbols.push_back(symbol);
        at += size;
    }
    const std::size_t longest = vocabulary.longest();
    merge_symbols(symbols, [&](const Symbol& left, const Symbol& right) -> std::optional<Join> {
        const std::size_t size = std::size_t{left.size} + right.size;
        if (size > longest) return std::nullopt;
        const auto token = vocabulary.find(whole.substr(left.begin, size));
        if (!token) return std::nullopt;
        return Join{-vocabulary.score(*token), *token};
    });
    for (const Symbol& symbol : symbols) {
        if (symbol.token && symbol.size != 0) {
            out.push_back(*symbol.token);
            continue;
        }
        bool spelled = true;
        for (const char byte : symbol.text(whole)) spelled = spelled && bytes_[static_cast<std::uint8_t>(byte)];
        if (spelled) {
            for (const char byte : symbol.text(whole)) out.push_back(*bytes_[static_cast<std::uint8_t>(byte)]);
        } else if (vocabulary.unknown()) {
            out.push_back(*vocabulary.unknown());
        }
    }
}

std::optional<char> Spm::byte_of(const Vocabulary& vocabulary, TokenId token) {
    const std::string_view text = vocabulary.text(token);
    if (vocabulary.kind(token) != TokenKind::byte) return std::nullopt;
    if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
    unsigned byte = 0;
    const auto [end, errc] = std::from_chars(text.data() + 3, text.data() + 5, byte, 16);
    if (errc != std::errc{} || end != text.data() + 5) return std::nullopt;
    return static_cast<char>(byte);
}

std::string Spm::from_piece(std::string_view piece) {
    std::string text;
    for (std::size_t at = 0; at < piece.size();) {
        if (piece.substr(at).starts_with(space_piece)) {
            text += ' ';
            at += space_piece.size();
        } else {
            text += piece[at++];
        }
    }
    return text;
}

}  // namespace exa::model
