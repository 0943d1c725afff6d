// pretokenizer: the words a byte-level BPE vocabulary was trained on. Merges never cross a word's end.
//
// Each kind is one published regular expression, matched here by hand in one pass (a general engine would need
// backtracking and tables of the same size). Text need not be UTF-8: a malformed byte is a character of no class.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace exa::model {

enum class Pretokenizer : std::uint8_t {
    // 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
    gpt2,
    // Every \p{N} is a word of its own; what lies between them is split as by gpt2.
    smollm,
    // (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
    // ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
    llama_bpe,
    // llama_bpe with \p{N} instead of \p{N}{1,3}.
    qwen2,
};

// By the value of tokenizer.ggml.pre; nothing for a name we do not know.
std::optional<Pretokenizer> parse_pretokenizer(std::string_view name);

// Calls `take` with the words of `text`, in order, none empty, until it returns false: joined they are `text`. Linear
// in its size.
void split_words(Pretokenizer kind, std::string_view text, const std::function<bool(std::string_view)>& take);

}  // namespace exa::model
