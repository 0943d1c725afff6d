#include "model/tokenizer.h"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "model/errc.h"
#include "model/tiny_model.h"
#include "sample_files.h"
#include "support/print.h"

namespace {

using exa::model::GgufWriter;
using exa::model::TextSegment;
using exa::model::TinyVocab;
using exa::model::TokenId;
using exa::model::Tokenizer;
using exa::model::TokenKind;
using exa::model::samples::bpe;
using exa::model::samples::spellings;
using exa::model::samples::tokenizer_of;

using Pieces = std::vector<std::string>;

std::shared_ptr<const Tokenizer> tiny(TinyVocab vocab) {
    const auto file = exa::model::make_tiny_model({.layers = 1, .vocab = vocab});
    BOOST_REQUIRE(file.has_value());
    const auto gguf = exa::model::Gguf::parse(file.value());
    BOOST_REQUIRE(gguf.has_value());
    const auto tokenizer = Tokenizer::make(gguf.value());
    BOOST_REQUIRE(tokenizer.has_value());
    return tokenizer.value();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tokenizer)

BOOST_AUTO_TEST_CASE(control_tokens_are_read_only_when_asked_for) {
    const auto tokenizer = tokenizer_of(bpe({{"<|a|>", TokenKind::control}, {"<|b|>", TokenKind::control}}, {}));
    BOOST_TEST_REQUIRE(tokenizer != nullptr);
    BOOST_TEST(spellings(*tokenizer, tokenizer->encode("x<|a|>y<|b|>", {.parse_special = true})) ==
               (Pieces{"x", "<|a|>", "y", "<|b|>"}));
    const auto plain = tokenizer->encode("x<|a|>y");
    BOOST_TEST(plain.size() == 7U);
    BOOST_TEST(tokenizer->decode(plain) == "x<|a|>y");
}

BOOST_AUTO_TEST_CASE(user_defined_tokens_are_always_read) {
    const auto tokenizer = tokenizer_of(bpe({{"[img]", TokenKind::user_defined}}, {}));
    BOOST_TEST_REQUIRE(tokenizer != nullptr);
    BOOST_TEST(spellings(*tokenizer, tokenizer->encode("a[img]")) == (Pieces{"a", "[img]"}));
    BOOST_TEST(tokenizer->decode(std::vector<TokenId>{0}) == "[img]");
}

BOOST_AUTO_TEST_CASE(of_special_tokens_at_one_place_the_longest_is_taken) {
    const auto tokenizer =
        tokenizer_of(bpe({{"<a", TokenKind::control}, {"<a>", TokenKind::control}, {"<a>>", TokenKind::control}}, {}));
    BOOST_TEST_REQUIRE(tokenizer != nullptr);
    BOOST_TEST(tokenizer->encode("<a><a<a>>>", {.parse_special = true}) ==
               (std::vector<TokenId>{1, 0, 2, tokenizer->encode(">").at(0)}));
}

BOOST_AUTO_TEST_CASE(segments_merge_across_their_ends_but_only_markup_is_read) {
    const auto tokenizer = tokenizer_of(bpe({{"<|a|>", TokenKind::control}}, {{"\n", "\n"}}));
    BOOST_TEST_REQUIRE(tokenizer != nullptr);
    const std::vector<TextSegment> lines = {{"<|a|>u\n", true}, {"\n", false}, {"<|a|>", true}};
    BOOST_TEST(
        (spellings(*tokenizer, tokenizer->encode(lines, false)) == Pieces{"<|a|>", "u", "\u010a\u010a", "<|a|>"}));
    const std::vector<TextSegment> attack = {{"<|a|>", true}, {"<|a|>", false}, {"<|a|>", true}};
    BOOST_TEST(
        (spellings(*tokenizer, tokenizer->encode(attack, false)) == Pieces{"<|a|>", "<", "|", "a", "|", ">", "<|a|>"}));
    // A name spelled half by markup and half by a client is text.
    const std::vector<TextSegment> halves = {{"<|a", true}, {"|>", false}};
    BOOST_TEST(tokenizer->encode(halves, false).size() == 5U);
}

BOOST_AUTO_TEST_CASE(a_beginning_of_text_token_is_added_when_file_and_caller_want_it) {
    const auto make = [](std::optional<bool> wanted) {
        GgufWriter writer = bpe({{"<s>", TokenKind::control}}, {});
        writer.set_uint("tokenizer.ggml.bos_token_id", 0);
        if (wanted) writer.set_bool("tokenizer.ggml.add_bos_token", *wanted);
        const auto tokenizer = tokenizer_of(writer);
        BOOST_TEST_REQUIRE(tokenizer != nullptr);
        return tokenizer;
    };
    BOOST_TEST(make(true)->encode("a", {.add_bos = true}).size() == 2U);
    BOOST_TEST(make(true)->encode("a", {.add_bos = true}).front() == 0U);
    BOOST_TEST(make(true)->encode("a").size() == 1U);
    BOOST_TEST(make(false)->encode("a", {.add_bos = true}).size() == 1U);
    BOOST_TEST(make(std::nullopt)->encode("a", {.add_bos = true}).size() == 1U);
    const auto spm = tokenizer_of(exa::model::samples::spm({}));
    BOOST_TEST_REQUIRE(spm != nullptr);
    BOOST_TEST(spm->encode("", {.add_bos = true}).size() == 1U);
}

BOOST_AUTO_TEST_CASE(the_space_before_a_text_follows_each_special_token) {
    GgufWriter writer = exa::model::samples::spm({{"a", TokenKind::normal, -1}, {"\u2581", TokenKind::normal, -2}});
    const auto tokenizer = tokenizer_of(writer);
    BOOST_TEST_REQUIRE(tokenizer != nullptr);
    BOOST_TEST(spellings(*tokenizer, tokenizer->encode("a<s>a</s>", {.add_bos = true, .parse_special = true})) ==
               (Pieces{"<s>", "\u2581", "a", "<s>", "\u2581", "a", "</s>"}));
}

BOOST_AUTO_TEST_CASE(ends_are_eos_eot_and_the_names_known_for_it) {
    GgufWriter writer = bpe({{"<|endoftext|>", TokenKind::control},
                             {"<|im_start|>", TokenKind::control},
                             {"<end>", TokenKind::control},
                             {"<turn>", TokenKind::control}},
                            {});
    writer.set_uint("tokenizer.ggml.eos_token_id", 2);
    writer.set_uint("tokenizer.ggml.eot_token_id", 3);
    const auto tokenizer = tokenizer_of(writer);
    BOOST_TEST_REQUIRE(tokenizer != nullptr);
    BOOST_TEST(tokenizer->end_tokens() == (std::vector<TokenId>{0, 2, 3}));
    BOOST_TEST(tokenizer->is_end(2));
    BOOST_TEST(!tokenizer->is_end(1));
    BOOST_TEST(!tokenizer->is_end(1'000'000));
    BOOST_TEST(tokenizer->eos() == 2U);
    BOOST_TEST(tokenizer->eot() == 3U);
    BOOST_TEST(!tokenizer->bos().has_value());
}

BOOST_AUTO_TEST_CASE(pieces_are_bytes_and_may_be_part_of_a_character) {
    for (const auto vocab : {TinyVocab::bpe_smollm, TinyVocab::spm}) {
        const auto tokenizer = tiny(vocab);
        const std::string text = "caf\u00e9 \u4f60 \xf0\x9f\x98\x80";
        const auto tokens = tokenizer->encode(text);
        bool partial = false;
        std::string joined;
        for (const TokenId token : tokens) {
            std::string piece;
            tokenizer->append_piece(token, piece, false);
            partial = partial || piece == "\xf0";
            joined += piece;
        }
        BOOST_TEST(partial);
        BOOST_TEST(joined == (vocab == TinyVocab::spm ? " " + text : text));
    }
}

BOOST_AUTO_TEST_CASE(control_tokens_say_their_name_only_when_asked) {
    const auto tokenizer = tiny(TinyVocab::bpe_smollm);
    const auto end = tokenizer->find_special("<|im_end|>");
    BOOST_REQUIRE(end.has_value());
    BOOST_TEST(tokenizer->decode(std::vector<TokenId>{*end}) == "");
    BOOST_TEST(tokenizer->decode(std::vector<TokenId>{*end}, true) == "<|im_end|>");
    BOOST_TEST(tokenizer->decode(std::vector<TokenId>{tokenizer->size(), ~TokenId{0}}, true) == "");
}

BOOST_AUTO_TEST_CASE(a_megabyte_of_one_character_encodes_in_time) {
    for (const auto vocab : {TinyVocab::bpe_smollm, TinyVocab::spm}) {
        const auto tokenizer = tiny(vocab);
        for (const char c : {'a', ' ', '=', '7', '<', '\xff'}) {
            const std::string text(1'000'000, c);
            const std::string decoded = tokenizer->decode(tokenizer->encode(text));
            BOOST_TEST(decoded == (vocab == TinyVocab::spm ? " " + text : text));
        }
    }
}

BOOST_AUTO_TEST_CASE(families_we_do_not_know_are_named) {
    const auto check = [](const GgufWriter& writer, exa::model::errc code, std::string_view part) {
        const exa::Bytes file = writer.finish();
        const auto gguf = exa::model::Gguf::parse(file);
        BOOST_REQUIRE(gguf.has_value());
        const auto found = Tokenizer::make(gguf.value());
        BOOST_REQUIRE(found.has_error());
        BOOST_TEST(found.error().code == code);
        BOOST_TEST(found.error().detail.find(part) != std::string::npos, found.error().detail);
    };
    check(GgufWriter(), exa::model::errc::metadata_missing, "tokenizer.ggml.model");
    GgufWriter writer;
    writer.set_string("tokenizer.ggml.model", "bert");
    exa::model::samples::write_tokens({{"a"}}, false, writer);
    check(writer, exa::model::errc::tokenizer_unsupported, "'bert'");
}

BOOST_AUTO_TEST_SUITE_END()
