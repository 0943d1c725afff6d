#include "model/tiny_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "model/byte_text.h"
#include "model/errc.h"
#include "model/gguf_writer.h"
#include "model/quantize.h"

namespace exa::model {

namespace {

constexpr std::string_view chatml_template =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + "
    "'\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

// What the merges are learnt from.
constexpr std::string_view sample_text =
    "the cat and the dog went to the market in the rain and the cat said hello to the user there "
    "the user asked the assistant what the weather was like and the assistant answered that it was raining "
    "hello world this is a story of a small town on the river where all the people knew each other "
    "each morning the baker opened the shop and the children came in for warm bread before they went to school "
    "the answer is that the number of tokens in a text is not the number of words in it "
    "system user assistant you are a helpful assistant and you answer the question of the user "
    "Hello Hello The The What What is is it it are are one two three four five six seven eight nine ten";
constexpr std::size_t merges_wanted = 200;

// Token kinds of tokenizer.ggml.token_type.
constexpr std::int32_t kind_normal = 1;
constexpr std::int32_t kind_unknown = 2;
constexpr std::int32_t kind_control = 3;
constexpr std::int32_t kind_byte = 6;

using Pair = std::pair<std::string, std::string>;

// Byte-pair encoding's own training (Sennrich et al. 2016): join the most frequent pair, again and again. A word keeps
// the space before it; of equally frequent pairs the smallest is taken.
std::vector<Pair> learn_merges() {
    std::vector<std::vector<std::string>> words;
    for (const char c : " " + std::string(sample_text)) {
        if (c == ' ') words.emplace_back();
        words.back().emplace_back(1, c);
    }
    std::vector<Pair> merges;
    while (merges.size() < merges_wanted) {
        std::map<Pair, int> counts;
        for (const auto& word : words)
            for (std::size_t i = 0; i + 1 < word.size(); ++i) ++counts[{word[i], word[i + 1]}];
        const auto best = std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
        if (best == counts.end()) break;
        const Pair pair = best->first;
        for (auto& word : words)
            for (std::size_t i = 0; i + 1 < word.size(); ++i) {
                if (word[i] != pair.first || word[i + 1] != pair.second) continue;
                word[i] += word[i + 1];
                word.erase(word.begin() + static_cast<std::ptrdiff_t>(i) + 1);
            }
        merges.push_back(pair);
    }
    return merges;
}

struct Vocabulary {
    std::vector<std::string> tokens;
    std::vector<std::int32_t> kinds;
    std::vector<float> scores;
    std::vector<std::string> merges;
    std::uint32_t bos = 0;
    std::uint32_t eos = 0;

    std::uint32_t add(std::string token, std::int32_t kind, float score = 0) {
        tokens.push_back(std::move(token));
        kinds.push_back(kind);
        scores.push_back(score);
        return static_cast<std::uint32_t>(tokens.size() - 1);
    }

    // Two merges may spell the same token.
    void add_once(const std::string& token, std::int32_t kind, float score = 0) {
        if (std::ranges::find(tokens, token) == tokens.end()) add(token, kind, score);
    }
};

Vocabulary make_bpe_vocabulary() {
    Vocabulary vocabulary;
    vocabulary.add("<|endoftext|>", kind_control);
    vocabulary.bos = vocabulary.add("<|im_start|>", kind_control);
    vocabulary.eos = vocabulary.add("<|im_end|>", kind_control);
    for (unsigned byte = 0; byte < 256; ++byte)
        vocabulary.add(std::string(byte_text(static_cast<std::uint8_t>(byte))), kind_normal);
    for (const auto& [left, right] : learn_merges()) {
        vocabulary.add_once(to_byte_text(left + right), kind_normal);
        vocabulary.merges.push_back(to_byte_text(left) + " " + to_byte_text(right));
    }
    return vocabulary;
}

// SentencePiece spells a space as U+2581.
std::string to_piece(std::string_view text) {
    std::string piece;
    for (const char c : text) {
        if (c == ' ')
            piece += "\xe2\x96\x81";
        else
            piece += c;
    }
    return piece;
}

Vocabulary make_spm_vocabulary() {
    Vocabulary vocabulary;
    vocabulary.add("<unk>", kind_unknown);
    vocabulary.add("<s>", kind_control);
    vocabulary.add("</s>", kind_control);
    for (unsigned byte = 0; byte < 256; ++byte) {
        std::array<char, 8> name{};
        std::snprintf(name.data(), name.size(), "<0x%02X>", byte);
        vocabulary.add(name.data(), kind_byte);
    }
    vocabulary.bos = vocabulary.add("<|im_start|>", kind_control);
    vocabulary.eos = vocabulary.add("<|im_end|>", kind_control);
    // A better score is a merge learnt earlier; single characters come last, as in a trained model.
    float score = 0;
    for (const auto& [left, right] : learn_merges()) vocabulary.add_once(to_piece(left + right), kind_normal, score--);
    for (char c = ' '; c <= '~'; ++c) vocabulary.add(to_piece(std::string_view(&c, 1)), kind_normal, score--);
    return vocabulary;
}

void write_tokenizer(const TinyModelSpec& spec, const Vocabulary& vocabulary, GgufWriter& writer) {
    const bool spm = spec.vocab == TinyVocab::spm;
    writer.set_string("tokenizer.ggml.model", spm ? "llama" : "gpt2");
    writer.set_string("tokenizer.ggml.pre", spm ? "default" : "smollm");
    writer.set_strings("tokenizer.ggml.tokens", vocabulary.tokens);
    writer.set_ints("tokenizer.ggml.token_type", vocabulary.kinds);
    if (spm)
        writer.set_floats("tokenizer.ggml.scores", vocabulary.scores);
    else
        writer.set_strings("tokenizer.ggml.merges", vocabulary.merges);
    writer.set_uint("tokenizer.ggml.bos_token_id", vocabulary.bos);
    writer.set_uint("tokenizer.ggml.eos_token_id", vocabulary.eos);
    writer.set_uint("tokenizer.ggml.unknown_token_id", 0);
    writer.set_bool("tokenizer.ggml.add_bos_token", false);
    writer.set_bool("tokenizer.ggml.add_space_prefix", spm);
    writer.set_string("tokenizer.chat_template", chatml_template);
}

// Nearly normal with mean 0 and variance 1: the sum of twelve uniforms needs no libm, whose last bits differ between
// machines.
float nearly_normal(Rng& rng) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += rng.unit();
    return static_cast<float>(sum);
}

void add_matrix(std::string_view name, TensorType type, std::uint32_t rows, std::uint32_t row_length, float deviation,
                Rng& rng, GgufWriter& writer) {
    std::vector<float> values(std::size_t{rows} * row_length);
    for (float& value : values) value = deviation * nearly_normal(rng);
    writer.add_tensor(name, type, {row_length, rows}, values);
}

void add_norm(std::string_view name, std::uint32_t length, Rng& rng, GgufWriter& writer) {
    std::vector<float> values(length);
    for (float& value : values) value = static_cast<float>(0.75 + 0.5 * rng.unit());
    writer.add_tensor(name, TensorType::f32, {length}, values);
}

// Matrices keep the variance of what they multiply. Queries are twice as large, so attention prefers some positions to
// others; the embedding is small against what the layers add, so the next token hangs on the context more than on the
// last token.
void write_tensors(const TinyModelSpec& spec, std::uint32_t vocabulary_size, GgufWriter& writer) {
    Rng rng(spec.seed);
    const std::uint32_t kv_length = spec.d / spec.heads * spec.kv_heads;
    const float from_d = 1 / std::sqrt(static_cast<float>(spec.d));
    const float from_ff = 1 / std::sqrt(static_cast<float>(spec.ff));
    const float embedding = 2.5F * from_d;

    add_matrix("token_embd.weight", spec.type, vocabulary_size, spec.d, embedding, rng, writer);
    for (std::uint32_t layer = 0; layer < spec.layers; ++layer) {
        const std::string block = "blk." + std::to_string(layer) + ".";
        add_norm(block + "attn_norm.weight", spec.d, rng, writer);
        add_matrix(block + "attn_q.weight", spec.type, spec.d, spec.d, 2 * from_d, rng, writer);
        add_matrix(block + "attn_k.weight", spec.type, kv_length, spec.d, from_d, rng, writer);
        add_matrix(block + "attn_v.weight", spec.type, kv_length, spec.d, from_d, rng, writer);
        add_matrix(block + "attn_output.weight", spec.type, spec.d, spec.d, from_d, rng, writer);
        add_norm(block + "ffn_norm.weight", spec.d, rng, writer);
        add_matrix(block + "ffn_gate.weight", spec.type, spec.ff, spec.d, from_d, rng, writer);
        add_matrix(block + "ffn_up.weight", spec.type, spec.ff, spec.d, from_d, rng, writer);
        add_matrix(block + "ffn_down.weight", spec.type, spec.d, spec.ff, from_ff, rng, writer);
    }
    if (!spec.tied) add_matrix("output.weight", spec.type, vocabulary_size, spec.d, embedding, rng, writer);
    add_norm("output_norm.weight", spec.d, rng, writer);
}

Result<void> validate(const TinyModelSpec& spec) {
    const auto refuse = [](const char* what) { return error(errc::gguf_invalid, what); };
    if (spec.layers == 0 || spec.layers > 64) return refuse("layers: 1 to 64");
    if (spec.heads == 0 || spec.heads > 256) return refuse("heads: 1 to 256");
    if (spec.kv_heads == 0 || spec.heads % spec.kv_heads != 0) return refuse("kv_heads: a divisor of heads");
    if (spec.d == 0 || spec.d > 4096 || spec.d % (2 * spec.heads) != 0)
        return refuse("d: a multiple of 2 * heads, at most 4096");
    if (spec.ff == 0 || spec.ff > 16'384) return refuse("ff: 1 to 16384");
    if (spec.context == 0) return refuse("context: at least 1");
    if (!can_quantize(spec.type)) return refuse("type: one of f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1");
    const std::uint32_t block = block_shape(spec.type)->elements;
    if (spec.d % block != 0) return refuse("d: a multiple of 32 for a quantised type");
    if (spec.ff % block != 0) return refuse("ff: a multiple of 32 for a quantised type");
    return success();
}

}  // namespace

Result<Bytes> make_tiny_model(const TinyModelSpec& spec) {
    EXA_TRY(validate(spec));
    const Vocabulary vocabulary = spec.vocab == TinyVocab::spm ? make_spm_vocabulary() : make_bpe_vocabulary();
    const auto vocabulary_size = static_cast<std::uint32_t>(vocabulary.tokens.size());

    GgufWriter writer;
    writer.set_string("general.architecture", "llama");
    writer.set_string("general.name", "tiny");
    writer.set_uint("llama.block_count", spec.layers);
    writer.set_uint("llama.context_length", spec.context);
    writer.set_uint("llama.embedding_length", spec.d);
    writer.set_uint("llama.feed_forward_length", spec.ff);
    writer.set_uint("llama.attention.head_count", spec.heads);
    writer.set_uint("llama.attention.head_count_kv", spec.kv_heads);
    writer.set_float("llama.attention.layer_norm_rms_epsilon", 1e-5F);
    writer.set_uint("llama.rope.dimension_count", spec.d / spec.heads);
    writer.set_float("llama.rope.freq_base", spec.rope_freq_base);
    writer.set_uint("llama.vocab_size", vocabulary_size);
    write_tokenizer(spec, vocabulary, writer);
    write_tensors(spec, vocabulary_size, writer);
    return writer.finish();
}

}  // namespace exa::model
