#include "model/tiny_model.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <string>

#include "base/hash.h"
#include "model/chat_template.h"
#include "model/errc.h"
#include "model/gguf.h"
#include "model/tokenizer.h"
#include "support/print.h"

namespace {

using exa::model::make_tiny_model;
using exa::model::TensorType;
using exa::model::TinyModelSpec;
using exa::model::TinyVocab;

exa::Bytes made(const TinyModelSpec& spec) {
    auto file = make_tiny_model(spec);
    BOOST_REQUIRE(file.has_value());
    return std::move(file.value());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tiny_model)

BOOST_AUTO_TEST_CASE(one_seed_gives_one_file_and_another_seed_another) {
    BOOST_TEST(made({.seed = 5}) == made({.seed = 5}));
    BOOST_TEST(made({.seed = 5}) != made({.seed = 6}));
}

// Other programs' expectations (recorded logits, golden answers) hang on these bytes.
BOOST_AUTO_TEST_CASE(the_default_file_never_changes) {
    BOOST_TEST(exa::hash64(made({})) == 12'334'532'111'280'956'707U);
}

BOOST_AUTO_TEST_CASE(every_type_and_vocabulary_has_all_that_a_llama_needs) {
    using enum TensorType;
    for (const auto vocab : {TinyVocab::spm, TinyVocab::bpe_smollm}) {
        for (const auto type : {f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1}) {
            const exa::Bytes file = made({.layers = 1, .vocab = vocab, .type = type, .tied = false});
            const auto parsed = exa::model::Gguf::parse(file);
            BOOST_REQUIRE(parsed.has_value());
            const auto& gguf = parsed.value();
            BOOST_TEST(gguf.get_string("general.architecture") == "llama");
            BOOST_TEST(gguf.get_uint("llama.block_count") == 1U);
            const auto rows = gguf.get_uint("llama.vocab_size");
            BOOST_REQUIRE(rows.has_value());
            for (const char* name : {"token_embd.weight", "output.weight"}) {
                const auto* const tensor = gguf.find(name);
                BOOST_TEST_REQUIRE(tensor != nullptr);
                BOOST_TEST(tensor->type == type);
                BOOST_TEST(tensor->shape == (std::vector<std::uint64_t>{64, *rows}));
            }
            const auto* const keys = gguf.find("blk.0.attn_k.weight");
            BOOST_TEST_REQUIRE(keys != nullptr);
            BOOST_TEST(keys->shape == (std::vector<std::uint64_t>{64, 32}));
            BOOST_TEST(gguf.find("blk.1.attn_k.weight") == nullptr);

            const auto tokenizer = exa::model::Tokenizer::make(gguf);
            BOOST_REQUIRE(tokenizer.has_value());
            BOOST_TEST(tokenizer.value()->size() == *rows);
            BOOST_TEST(tokenizer.value()->find_special("<|im_start|>").has_value());
            BOOST_TEST(tokenizer.value()->is_end(*tokenizer.value()->find_special("<|im_end|>")));
            const auto chat = exa::model::ChatTemplate::make(gguf);
            BOOST_REQUIRE(chat.has_value());
            BOOST_TEST(chat.value().family() == exa::model::ChatFamily::chatml);
            BOOST_TEST(chat.value().default_system() == "");
        }
    }
}

BOOST_AUTO_TEST_CASE(a_tied_model_has_no_output_matrix) {
    const exa::Bytes file = made({});
    const auto parsed = exa::model::Gguf::parse(file);
    BOOST_REQUIRE(parsed.has_value());
    BOOST_TEST(parsed.value().find("output.weight") == nullptr);
}

BOOST_AUTO_TEST_CASE(weights_keep_the_variance_of_what_they_multiply) {
    const exa::Bytes file = made({.d = 128, .heads = 4});
    const auto parsed = exa::model::Gguf::parse(file);
    BOOST_REQUIRE(parsed.has_value());
    const auto* const tensor = parsed.value().find("blk.0.ffn_up.weight");
    BOOST_TEST_REQUIRE(tensor != nullptr);
    double squares = 0;
    const std::size_t count = tensor->data.size() / sizeof(float);
    for (std::size_t i = 0; i < count; ++i) {
        float value = 0;
        std::memcpy(&value, tensor->data.data() + i * sizeof value, sizeof value);
        squares += static_cast<double>(value) * static_cast<double>(value);
    }
    BOOST_TEST(std::abs(squares / static_cast<double>(count) * 128 - 1) < 0.05);
}

BOOST_AUTO_TEST_CASE(a_spec_that_makes_no_model_names_the_field) {
    const auto check = [](const TinyModelSpec& spec, std::string_view field) {
        const auto found = make_tiny_model(spec);
        BOOST_REQUIRE(found.has_error());
        BOOST_TEST(found.error().detail.starts_with(field), found.error().detail);
    };
    check({.layers = 0}, "layers: ");
    check({.heads = 0}, "heads: ");
    check({.heads = 4, .kv_heads = 3}, "kv_heads: ");
    check({.d = 60}, "d: ");
    check({.d = 40, .heads = 4, .kv_heads = 2, .type = TensorType::q8_0}, "d: ");
    check({.ff = 100, .type = TensorType::q8_0}, "ff: ");
    check({.context = 0}, "context: ");
    check({.type = TensorType::q6_k}, "type: ");
}

BOOST_AUTO_TEST_SUITE_END()
