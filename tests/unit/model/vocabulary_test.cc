#include "model/vocabulary.h"

#include <boost/test/unit_test.hpp>
#include <limits>
#include <string>
#include <vector>

#include "model/errc.h"
#include "model/gguf_writer.h"
#include "sample_files.h"
#include "support/print.h"

namespace {

using exa::model::errc;
using exa::model::GgufWriter;
using exa::model::TokenKind;
using exa::model::Vocabulary;
using exa::model::samples::Token;
using exa::model::samples::write_tokens;

exa::Result<Vocabulary> read(const GgufWriter& writer) {
    const exa::Bytes file = writer.finish();
    const auto gguf = exa::model::Gguf::parse(file);
    BOOST_REQUIRE(gguf.has_value());
    return Vocabulary::read(gguf.value());
}

void check_refused(const GgufWriter& writer, errc code, std::string_view part) {
    const auto found = read(writer);
    BOOST_REQUIRE(found.has_error());
    BOOST_TEST(found.error().code == code, found.error().message());
    BOOST_TEST(found.error().detail.find(part) != std::string::npos, found.error().message());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(vocabulary)

BOOST_AUTO_TEST_CASE(text_finds_no_control_byte_or_unknown_token) {
    GgufWriter writer;
    write_tokens({{"a", TokenKind::normal},
                  {"<s>", TokenKind::control},
                  {"<0x41>", TokenKind::byte},
                  {"<unk>", TokenKind::unknown},
                  {"user", TokenKind::user_defined},
                  {"unused", TokenKind::unused},
                  {"", TokenKind::normal}},
                 false, writer);
    const auto found = read(writer);
    BOOST_REQUIRE(found.has_value());
    const Vocabulary& vocabulary = found.value();
    BOOST_TEST(vocabulary.find("a") == 0U);
    BOOST_TEST(vocabulary.find("user") == 4U);
    BOOST_TEST(vocabulary.find("unused") == 5U);
    for (const char* text : {"<s>", "<0x41>", "<unk>", "", "b"}) BOOST_TEST(!vocabulary.find(text).has_value(), text);
    BOOST_TEST(vocabulary.find_special("<s>") == 1U);
    BOOST_TEST(vocabulary.find_special("user") == 4U);
    BOOST_TEST(!vocabulary.find_special("a").has_value());
    BOOST_TEST(vocabulary.specials() == (std::vector<exa::model::TokenId>{1, 3, 4}));
    BOOST_TEST(vocabulary.longest() == 6U);
    BOOST_TEST(vocabulary.score(0) == 0.0F);
}

BOOST_AUTO_TEST_CASE(it_outlives_the_file_it_was_read_from) {
    auto found = [] {
        GgufWriter writer;
        write_tokens({{"a"}, {std::string(100, 'b')}}, false, writer);
        return read(writer);
    }();
    BOOST_REQUIRE(found.has_value());
    const Vocabulary moved = std::move(found.value());
    BOOST_TEST(moved.find("a") == 0U);
    BOOST_TEST(moved.find(std::string(100, 'b')) == 1U);
}

BOOST_AUTO_TEST_CASE(control_tokens_typed_as_text_are_repaired) {
    GgufWriter writer;
    write_tokens({{"<|im_start|>", TokenKind::normal},
                  {"<|im_end|>", TokenKind::user_defined},
                  {"<|tool_call|>", TokenKind::user_defined},
                  {"<|a b|>", TokenKind::normal},
                  {"</s>", TokenKind::normal},
                  {"<|im_start|>", TokenKind::normal},
                  {"<b>", TokenKind::normal}},
                 false, writer);
    const auto found = read(writer);
    BOOST_REQUIRE(found.has_value());
    const Vocabulary& vocabulary = found.value();
    BOOST_TEST(vocabulary.repaired() == (std::vector<exa::model::TokenId>{0, 1, 4, 5}));
    for (const char* text : {"<|im_start|>", "<|im_end|>", "</s>"})
        BOOST_TEST(!vocabulary.find(text).has_value(), text);
    // Of twins the first.
    BOOST_TEST(vocabulary.find_special("<|im_start|>") == 0U);
    BOOST_TEST((vocabulary.kind(2) == TokenKind::user_defined));
    BOOST_TEST(vocabulary.find("<|a b|>") == 3U);
    BOOST_TEST(vocabulary.find("<b>") == 6U);
}

BOOST_AUTO_TEST_CASE(tokens_of_an_undefined_kind_are_text) {
    GgufWriter writer;
    writer.set_strings("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
    writer.set_ints("tokenizer.ggml.token_type", std::vector<std::int32_t>{0});
    const auto found = read(writer);
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(found.value().find("a") == 0U);
}

BOOST_AUTO_TEST_CASE(arrays_that_do_not_fit_are_refused) {
    check_refused(GgufWriter(), errc::metadata_missing, "tokenizer.ggml.tokens");
    GgufWriter empty;
    empty.set_strings("tokenizer.ggml.tokens", std::vector<std::string>());
    check_refused(empty, errc::tokenizer_invalid, "0 tokens");
    GgufWriter kinds;
    kinds.set_strings("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b"});
    kinds.set_ints("tokenizer.ggml.token_type", std::vector<std::int32_t>{1});
    check_refused(kinds, errc::tokenizer_invalid, "1 kinds for 2 tokens");
    GgufWriter kind;
    kind.set_strings("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
    kind.set_ints("tokenizer.ggml.token_type", std::vector<std::int32_t>{7});
    check_refused(kind, errc::tokenizer_invalid, "kind 7 of token 0");
    GgufWriter scores;
    scores.set_strings("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
    scores.set_floats("tokenizer.ggml.scores", std::vector<float>{1, 2});
    check_refused(scores, errc::tokenizer_invalid, "2 scores for 1 tokens");
    GgufWriter text;
    text.set_strings("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
    text.set_string("tokenizer.ggml.scores", "none");
    check_refused(text, errc::metadata_missing, "tokenizer.ggml.scores");
}

BOOST_AUTO_TEST_CASE(named_tokens_must_be_in_the_vocabulary) {
    for (const char* key : {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                            "tokenizer.ggml.unknown_token_id"}) {
        GgufWriter writer;
        write_tokens({{"a"}}, false, writer);
        writer.set_uint(key, 1);
        check_refused(writer, errc::tokenizer_invalid, key);
    }
    GgufWriter none;
    write_tokens({{"a"}}, false, none);
    none.set_uint("tokenizer.ggml.bos_token_id", std::numeric_limits<std::uint32_t>::max());
    const auto found = read(none);
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(!found.value().bos().has_value());
}

BOOST_AUTO_TEST_SUITE_END()
