#include "model/spm.h"

#include <boost/test/unit_test.hpp>
#include <limits>
#include <string>
#include <vector>

#include "model/errc.h"
#include "sample_files.h"
#include "support/print.h"

namespace {

using exa::model::GgufWriter;
using exa::model::TokenKind;
using exa::model::samples::spellings;
using exa::model::samples::spm;
using exa::model::samples::tokenizer_of;

using Pieces = std::vector<std::string>;

Pieces pieces(const GgufWriter& writer, std::string_view text) {
    const auto tokenizer = tokenizer_of(writer);
    BOOST_TEST_REQUIRE(tokenizer != nullptr);
    return spellings(*tokenizer, tokenizer->encode(text));
}

GgufWriter without_prefix(const std::vector<exa::model::samples::Token>& tokens, bool bytes = true) {
    GgufWriter writer = spm(tokens, bytes);
    writer.set_bool("tokenizer.ggml.add_space_prefix", false);
    return writer;
}

constexpr auto normal = TokenKind::normal;

}  // namespace

BOOST_AUTO_TEST_SUITE(spm_merges)

BOOST_AUTO_TEST_CASE(the_best_score_joins_first) {
    const auto writer = without_prefix(
        {{"a", normal, -10}, {"b", normal, -10}, {"c", normal, -10}, {"ab", normal, -2}, {"bc", normal, -1}});
    BOOST_TEST(pieces(writer, "abc") == (Pieces{"a", "bc"}));
    BOOST_TEST(pieces(writer, "ab") == Pieces{"ab"});
    BOOST_TEST(pieces(writer, "abbc") == (Pieces{"ab", "bc"}));
}

BOOST_AUTO_TEST_CASE(equal_scores_join_from_the_left) {
    const auto writer = without_prefix({{"a", normal, -9}, {"aa", normal, -1}});
    BOOST_TEST(pieces(writer, "aaa") == (Pieces{"aa", "a"}));
}

BOOST_AUTO_TEST_CASE(a_space_is_u2581_and_one_is_put_before_the_text) {
    const std::vector<exa::model::samples::Token> tokens = {
        {"a", normal, -9}, {"\u2581", normal, -9}, {"\u2581a", normal, -1}, {"\u2581\u2581", normal, -2}};
    BOOST_TEST(pieces(spm(tokens), "a a") == (Pieces{"\u2581a", "\u2581a"}));
    BOOST_TEST(pieces(spm(tokens), "a   a") == (Pieces{"\u2581a", "\u2581\u2581", "\u2581a"}));
    BOOST_TEST(pieces(spm(tokens), " a") == (Pieces{"\u2581", "\u2581a"}));
    BOOST_TEST(pieces(spm(tokens), "") == Pieces{});
    BOOST_TEST(pieces(without_prefix(tokens), "a a") == (Pieces{"a", "\u2581a"}));
}

BOOST_AUTO_TEST_CASE(characters_without_a_piece_become_byte_tokens) {
    const auto writer = without_prefix({{"a", normal, -1}});
    BOOST_TEST(pieces(writer, "a\u00e9") == (Pieces{"a", "<0xC3>", "<0xA9>"}));
    BOOST_TEST(pieces(writer,
                      "\xff"
                      "a") == (Pieces{"<0xFF>", "a"}));
    BOOST_TEST(pieces(writer, "\n") == Pieces{"<0x0A>"});
}

BOOST_AUTO_TEST_CASE(without_byte_tokens_a_character_is_one_unknown) {
    const auto writer = without_prefix({{"a", normal, -1}}, false);
    BOOST_TEST(pieces(writer,
                      "a\u4f60\u597d"
                      "a") == (Pieces{"a", "<unk>", "<unk>", "a"}));
}

BOOST_AUTO_TEST_CASE(text_cannot_spell_a_control_or_byte_token) {
    // Pieces that would join into "</s>" and "<0x41>" if those could be found.
    const auto writer = without_prefix({{"<", normal, -9},
                                        {"/", normal, -9},
                                        {"s", normal, -9},
                                        {">", normal, -9},
                                        {"</", normal, -1},
                                        {"s>", normal, -1},
                                        {"<0x", normal, -1},
                                        {"41>", normal, -1}});
    BOOST_TEST(pieces(writer, "</s>") == (Pieces{"</", "s>"}));
    const auto tokenizer = tokenizer_of(writer);
    BOOST_TEST_REQUIRE(tokenizer != nullptr);
    BOOST_TEST(tokenizer->decode(tokenizer->encode("<0x41>")) == "<0x41>");
}

BOOST_AUTO_TEST_CASE(a_score_that_is_no_number_comes_last) {
    const auto writer = without_prefix({{"a", normal, -9},
                                        {"b", normal, -9},
                                        {"ab", normal, std::numeric_limits<float>::quiet_NaN()},
                                        {"ba", normal, -5}});
    BOOST_TEST(pieces(writer, "aba") == (Pieces{"a", "ba"}));
    BOOST_TEST(pieces(writer, "ab") == Pieces{"ab"});
}

BOOST_AUTO_TEST_CASE(a_file_without_scores_is_refused) {
    GgufWriter writer;
    writer.set_string("tokenizer.ggml.model", "llama");
    exa::model::samples::write_tokens({{"a"}}, false, writer);
    const exa::Bytes file = writer.finish();
    const auto gguf = exa::model::Gguf::parse(file);
    BOOST_REQUIRE(gguf.has_value());
    const auto found = exa::model::Tokenizer::make(gguf.value());
    BOOST_REQUIRE(found.has_error());
    BOOST_TEST(found.error().code == exa::model::errc::metadata_missing);
    BOOST_TEST(found.error().detail.find("tokenizer.ggml.scores") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
