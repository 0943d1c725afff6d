// Special tokens are found first, the longest at each place, left to right; what lies between them goes to the merger.
// Finding them before the merger splits words is what the vocabularies were trained with.
#include "model/tokenizer.h"

#include <algorithm>

#include "model/byte_text.h"
#include "model/errc.h"

namespace exa::model {

namespace {

// Names that end an answer in one model family or another. Files often give only one of theirs as eos or eot.
constexpr std::array<std::string_view, 9> end_names = {
    "<|im_end|>", "<|eot_id|>", "<|eom_id|>",         "<|end|>", "<|endoftext|>", "<|end_of_text|>",
    "<EOT>",      "</s>",       "<end_of_utterance>",
};

std::uint8_t first_byte(std::string_view text) {
    return static_cast<std::uint8_t>(text[0]);
}

std::string make_piece(const Vocabulary& vocabulary, TokenId token, bool bytes_are_spelled) {
    const std::string_view text = vocabulary.text(token);
    switch (vocabulary.kind(token)) {
        case TokenKind::control:
        case TokenKind::unknown:
            return std::string(text);
        case TokenKind::byte:
            if (const auto byte = Spm::byte_of(vocabulary, token)) return std::string(1, *byte);
            return std::string(text);
        case TokenKind::user_defined:
            return bytes_are_spelled ? std::string(text) : Spm::from_piece(text);
        case TokenKind::normal:
        case TokenKind::unused:
            break;
    }
    return bytes_are_spelled ? from_byte_text(text).value_or(std::string(text)) : Spm::from_piece(text);
}

}  // namespace

Tokenizer::Tokenizer(Vocabulary vocabulary, std::variant<Bpe, Spm> merger, bool add_bos)
    : vocabulary_(std::move(vocabulary)),
      merger_(std::move(merger)),
      add_bos_(add_bos && vocabulary_.bos()),
      specials_(vocabulary_.specials()),
      ends_(vocabulary_.size()) {
    std::ranges::sort(specials_, [this](TokenId a, TokenId b) {
        const std::string_view left = vocabulary_.text(a);
        const std::string_view right = vocabulary_.text(b);
        if (left[0] != right[0]) return first_byte(left) < first_byte(right);
        return left.size() != right.size() ? left.size() > right.size() : a < b;
    });
    for (std::uint32_t i = 0; i < specials_.size(); ++i) {
        auto& [begin, end] = specials_by_byte_[first_byte(vocabulary_.text(specials_[i]))];
        if (end == 0) begin = i;
        end = i + 1;
    }
    const bool bytes_are_spelled = std::holds_alternative<Bpe>(merger_);
    pieces_.reserve(vocabulary_.size());
    for (TokenId token = 0; token < vocabulary_.size(); ++token) {
        pieces_.push_back(make_piece(vocabulary_, token, bytes_are_spelled));
        longest_piece_ = std::max({longest_piece_, pieces_.back().size(), vocabulary_.text(token).size()});
    }
    for (const auto token : {vocabulary_.eos(), vocabulary_.eot()})
        if (token) ends_[*token] = true;
    // A file may spell one of them twice, and the model knows which it was trained with.
    for (const TokenId token : specials_)
        if (std::ranges::count(end_names, vocabulary_.text(token)) > 0) ends_[token] = true;
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::make(const Gguf& gguf) {
    const auto family = gguf.get_string("tokenizer.ggml.model");
    if (!family) return error(errc::metadata_missing, "tokenizer.ggml.model: a string");
    EXA_TRY(auto vocabulary, Vocabulary::read(gguf));
    const auto add_bos = gguf.get_bool("tokenizer.ggml.add_bos_token");
    if (*family == "llama") {
        EXA_TRY(auto spm, Spm::make(gguf, vocabulary));
        return std::shared_ptr<const Tokenizer>(
            new Tokenizer(std::move(vocabulary), std::move(spm), add_bos.value_or(true)));
    }
    if (*family == "gpt2") {
        EXA_TRY(auto bpe, Bpe::make(gguf, vocabulary));
        const bool add_bos_default = bpe.pretokenizer() == Pretokenizer::llama_bpe;
        return std::shared_ptr<const Tokenizer>(
            new Tokenizer(std::move(vocabulary), std::move(bpe), add_bos.value_or(add_bos_default)));
    }
    return error(errc::tokenizer_unsupported,
                 "tokenizer.ggml.model: '" + std::string(family->substr(0, 64)) + "', known are llama and gpt2");
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
    const TextSegment segment{text, options.parse_special};
    return encode(std::span(&segment, 1), options.add_bos, options.tokens_max);
}

std::vector<TokenId> Tokenizer::encode(std::span<const TextSegment> segments, bool add_bos,
                                       std::size_t tokens_max) const {
    std::string text;
    for (const TextSegment& segment : segments) text += segment.text;

    std::vector<TokenId> out;
    bool after_special = true;
    if (add_bos && add_bos_) out.push_back(*vocabulary_.bos());
    const auto encode_plain = [&](std::string_view plain) {
        if (plain.empty()) return;
        if (const Bpe* const bpe = std::get_if<Bpe>(&merger_)) bpe->encode(plain, vocabulary_, tokens_max, out);
        if (const Spm* const spm = std::get_if<Spm>(&merger_))
            spm->encode(plain, after_special, vocabulary_, tokens_max, out);
        after_special = false;
    };

    std::size_t plain_begin = 0;
    std::size_t at = 0;
    std::size_t segment_end = 0;
    for (const TextSegment& segment : segments) {
        segment_end += segment.text.size();
        while (at < segment_end) {
            const auto special = special_at(std::string_view(text).substr(at, segment_end - at), segment.parse_special);
            if (!special) {
                ++at;
                continue;
            }
            encode_plain(std::string_view(text).substr(plain_begin, at - plain_begin));
            if (out.size() > tokens_max) return out;
            out.push_back(*special);
            if (out.size() > tokens_max) return out;
            after_special = true;
            at += vocabulary_.text(*special).size();
            plain_begin = at;
        }
    }
    encode_plain(std::string_view(text).substr(plain_begin));
    return out;
}

std::optional<TokenId> Tokenizer::special_at(std::string_view text, bool parse_special) const {
    const auto [begin, end] = specials_by_byte_[first_byte(text)];
    for (std::uint32_t i = begin; i < end; ++i) {
        const TokenId token = specials_[i];
        if (!parse_special && vocabulary_.kind(token) != TokenKind::user_defined) continue;
        if (text.starts_with(vocabulary_.text(token))) return token;
    }
    return std::nullopt;
}

void Tokenizer::append_piece(TokenId token, std::string& out, bool special) const {
    if (token >= pieces_.size()) return;
    const TokenKind kind = vocabulary_.kind(token);
    if (!special && (kind == TokenKind::control || kind == TokenKind::unknown)) return;
    out += pieces_[token];
}

std::string Tokenizer::decode(std::span<const TokenId> tokens, bool special) const {
    std::string text;
    for (const TokenId token : tokens) append_piece(token, text, special);
    return text;
}

std::vector<TokenId> Tokenizer::end_tokens() const {
    std::vector<TokenId> tokens;
    for (TokenId token = 0; token < ends_.size(); ++token)
        if (ends_[token]) tokens.push_back(token);
    return tokens;
}

}  // namespace exa::model
