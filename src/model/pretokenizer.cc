#include "model/pretokenizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "model/unicode.h"

namespace exa::model {

namespace {

struct Character {
    std::uint32_t code_point = 0;
    std::size_t size = 0;  // 0 at the end of the text
    CharClass kind = CharClass::other;
};

Character character_at(std::string_view text, std::size_t at) {
    if (at >= text.size()) return {};
    const CodePoint code_point = first_code_point(text.substr(at));
    return {code_point.value, code_point.size, char_class(code_point.value)};
}

// Where the run of characters of `kind` that begins at `at` ends.
std::size_t end_of_run(std::string_view text, std::size_t at, CharClass kind) {
    for (Character c = character_at(text, at); c.size != 0 && c.kind == kind; c = character_at(text, at)) at += c.size;
    return at;
}

char to_lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Size of the English contraction `text` starts with; 0 for none.
std::size_t contraction(std::string_view text, bool ignore_case) {
    if (text.empty() || text[0] != '\'') return 0;
    for (const std::string_view ending : {"s", "t", "re", "ve", "m", "ll", "d"}) {
        const std::string_view found = text.substr(1, ending.size());
        const auto same = [ignore_case](char a, char b) { return (ignore_case ? to_lower(a) : a) == b; };
        if (std::ranges::equal(found, ending, same)) return 1 + ending.size();
    }
    return 0;
}

// \s+(?!\S)|\s+ : before a word the run leaves its last character behind, unless it is the only one.
std::size_t white_space(std::string_view text) {
    std::size_t end = 0;
    std::size_t last = 0;
    for (Character c = character_at(text, 0); c.kind == CharClass::space && c.size != 0; c = character_at(text, end)) {
        last = end;
        end += c.size;
    }
    return end == text.size() || last == 0 ? end : last;
}

std::size_t first_word_gpt2(std::string_view text) {
    if (const std::size_t size = contraction(text, false); size != 0) return size;
    const std::size_t lead = text[0] == ' ' ? 1 : 0;
    const Character c = character_at(text, lead);
    if (c.size == 0 || c.kind == CharClass::space) return white_space(text);
    return end_of_run(text, lead, c.kind);
}

std::size_t first_word_llama(std::string_view text, std::size_t digits_max) {
    if (const std::size_t size = contraction(text, true); size != 0) return size;

    const Character c = character_at(text, 0);
    if (c.kind == CharClass::letter) return end_of_run(text, 0, CharClass::letter);
    const bool line_end = c.code_point == '\r' || c.code_point == '\n';
    if (!line_end && c.kind != CharClass::number && character_at(text, c.size).kind == CharClass::letter)
        return end_of_run(text, c.size, CharClass::letter);

    if (c.kind == CharClass::number) {
        std::size_t end = 0;
        for (std::size_t i = 0; i < digits_max; ++i) {
            const Character digit = character_at(text, end);
            if (digit.size == 0 || digit.kind != CharClass::number) break;
            end += digit.size;
        }
        return end;
    }

    const std::size_t lead = text[0] == ' ' ? 1 : 0;
    const Character after = character_at(text, lead);
    if (after.size != 0 && after.kind == CharClass::other) {
        const std::size_t end = end_of_run(text, lead, CharClass::other);
        return std::min(text.find_first_not_of("\r\n", end), text.size());
    }

    // \s*[\r\n]+ : up to the last line end of the run.
    const std::string_view run = text.substr(0, end_of_run(text, 0, CharClass::space));
    const std::size_t last_line_end = run.find_last_of("\r\n");
    return last_line_end != std::string_view::npos ? last_line_end + 1 : white_space(text);
}

using Take = std::function<bool(std::string_view)>;

// Whether all of it was taken.
template <class FirstWord>
bool split(std::string_view text, FirstWord first_word, const Take& take) {
    while (!text.empty()) {
        const std::size_t size = first_word(text);
        if (!take(text.substr(0, size))) return false;
        text.remove_prefix(size);
    }
    return true;
}

void split_smollm(std::string_view text, const Take& take) {
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.size();) {
        const Character c = character_at(text, at);
        if (c.kind == CharClass::number) {
            if (!split(text.substr(begin, at - begin), first_word_gpt2, take) || !take(text.substr(at, c.size))) return;
            begin = at + c.size;
        }
        at += c.size;
    }
    split(text.substr(begin), first_word_gpt2, take);
}

}  // namespace

std::optional<Pretokenizer> parse_pretokenizer(std::string_view name) {
    static constexpr std::array<std::pair<std::string_view, Pretokenizer>, 15> known = {{
        {"gpt-2", Pretokenizer::gpt2},
        {"default", Pretokenizer::gpt2},
        {"phi-2", Pretokenizer::gpt2},
        {"olmo", Pretokenizer::gpt2},
        {"smollm", Pretokenizer::smollm},
        {"starcoder", Pretokenizer::smollm},
        {"refact", Pretokenizer::smollm},
        {"command-r", Pretokenizer::smollm},
        {"codeshell", Pretokenizer::smollm},
        {"llama-bpe", Pretokenizer::llama_bpe},
        {"llama3", Pretokenizer::llama_bpe},
        {"llama-v3", Pretokenizer::llama_bpe},
        {"qwen2", Pretokenizer::qwen2},
        {"deepseek-r1-qwen", Pretokenizer::qwen2},
        {"stablelm2", Pretokenizer::qwen2},
    }};
    const auto at = std::ranges::find(known, name, &std::pair<std::string_view, Pretokenizer>::first);
    if (at == known.end()) return std::nullopt;
    return at->second;
}

void split_words(Pretokenizer kind, std::string_view text, const Take& take) {
    switch (kind) {
        case Pretokenizer::gpt2:
            split(text, first_word_gpt2, take);
            break;
        case Pretokenizer::smollm:
            split_smollm(text, take);
            break;
        case Pretokenizer::llama_bpe:
            split(text, [](std::string_view rest) { return first_word_llama(rest, 3); }, take);
            break;
        case Pretokenizer::qwen2:
            split(text, [](std::string_view rest) { return first_word_llama(rest, 1); }, take);
            break;
    }
}

}  // namespace exa::model
