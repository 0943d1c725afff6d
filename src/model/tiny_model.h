// tiny_model: a whole Llama-family GGUF with random weights, made from a seed, for tests without a download.
//
// The same spec gives the same bytes on every machine. Its tokenizer is small but complete (any bytes encode and come
// back), and its text is noise: sane logits that depend on the whole context are all it promises.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"
#include "model/gguf.h"

namespace exa::model {

// spm: SentencePiece with byte fallback. bpe_smollm: byte-level BPE behind the smollm pre-tokenizer.
enum class TinyVocab : std::uint8_t { spm, bpe_smollm };

struct TinyModelSpec {
    std::uint64_t seed = 1;
    std::uint32_t layers = 2;  // 1 .. 64
    std::uint32_t d = 64;      // embedding length, a multiple of 2 * heads, and of 32 if type is quantised
    std::uint32_t heads = 4;   // a multiple of kv_heads
    std::uint32_t kv_heads = 2;
    std::uint32_t ff = 128;       // a multiple of 32 if type is quantised
    std::uint32_t context = 512;  // tokens
    TinyVocab vocab = TinyVocab::bpe_smollm;
    TensorType type = TensorType::f32;  // of the matrices: any that can_quantize(); norms are always f32
    bool tied = true;                   // no output matrix: the embedding serves
    float rope_freq_base = 10'000;
};

// Control tokens <|im_start|> and <|im_end|> (which is also the end of text) and a ChatML template come with it.
// errc::gguf_invalid names the field of `spec` and its range.
Result<Bytes> make_tiny_model(const TinyModelSpec& spec);

}  // namespace exa::model
