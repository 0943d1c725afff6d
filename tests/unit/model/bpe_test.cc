#include "model/bpe.h"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "model/errc.h"
#include "sample_files.h"
#include "support/print.h"

namespace {

using exa::model::Bpe;
using exa::model::errc;
using exa::model::GgufWriter;
using exa::model::TokenId;
using exa::model::TokenKind;
using exa::model::Vocabulary;
using exa::model::samples::bpe;

std::vector<std::string> pieces(const GgufWriter& writer, std::string_view text) {
    const auto tokenizer = exa::model::samples::tokenizer_of(writer);
    BOOST_TEST_REQUIRE(tokenizer != nullptr);
    std::vector<std::string> out;
    for (const TokenId token : tokenizer->encode(text)) out.push_back(tokenizer->decode({&token, 1}));
    return out;
}

using Pieces = std::vector<std::string>;

void check_refused(const GgufWriter& writer, errc code, std::string_view part) {
    const exa::Bytes file = writer.finish();
    const auto gguf = exa::model::Gguf::parse(file);
    BOOST_REQUIRE(gguf.has_value());
    const auto vocabulary = Vocabulary::read(gguf.value());
    BOOST_REQUIRE(vocabulary.has_value());
    const auto found = Bpe::make(gguf.value(), vocabulary.value());
    BOOST_REQUIRE(found.has_error());
    BOOST_TEST(found.error().code == code, found.error().message());
    BOOST_TEST(found.error().detail.find(part) != std::string::npos, found.error().message());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(bpe_merges)

BOOST_AUTO_TEST_CASE(the_merge_learnt_first_wins_wherever_it_stands) {
    const auto writer = bpe({}, {{"b", "c"}, {"a", "b"}, {"a", "bc"}});
    BOOST_TEST(pieces(writer, "ab") == Pieces{"ab"});
    BOOST_TEST(pieces(writer, "abc") == Pieces{"abc"});
    BOOST_TEST(pieces(writer, "abbc") == (Pieces{"ab", "bc"}));
    const auto other = bpe({}, {{"a", "b"}, {"b", "c"}, {"a", "bc"}});
    BOOST_TEST(pieces(other, "abc") == (Pieces{"ab", "c"}));
}

BOOST_AUTO_TEST_CASE(equal_merges_join_from_the_left) {
    const auto writer = bpe({}, {{"a", "a"}, {"aa", "aa"}});
    BOOST_TEST(pieces(writer, "aaa") == (Pieces{"aa", "a"}));
    BOOST_TEST(pieces(writer, "aaaaaaa") == (Pieces{"aaaa", "aa", "a"}));
}

BOOST_AUTO_TEST_CASE(merges_stay_inside_words) {
    const auto writer = bpe({}, {{"o", " "}, {" ", "w"}});
    BOOST_TEST(pieces(writer, "o w") == (Pieces{"o", " w"}));
}

BOOST_AUTO_TEST_CASE(a_word_that_is_a_token_is_taken_whole_by_llama_alone) {
    // "abc" is a token, but no sequence of merges reaches it from "ab" first.
    const std::vector<std::pair<std::string, std::string>> merges = {{"a", "b"}, {"b", "c"}, {"a", "bc"}};
    BOOST_TEST(pieces(bpe({}, merges, "llama-bpe"), "abc") == Pieces{"abc"});
    BOOST_TEST(pieces(bpe({}, merges, "qwen2"), "abc") == (Pieces{"ab", "c"}));
}

BOOST_AUTO_TEST_CASE(bytes_without_a_token_are_left_out_and_not_merged_across) {
    GgufWriter writer;
    writer.set_string("tokenizer.ggml.model", "gpt2");
    exa::model::samples::write_tokens({{"-"}, {"--"}}, false, writer);
    writer.set_strings("tokenizer.ggml.merges", std::vector<std::string>{"- -"});
    BOOST_TEST(pieces(writer, "--") == Pieces{"--"});
    BOOST_TEST(pieces(writer, "-\x01-") == (Pieces{"-", "-"}));
    BOOST_TEST(pieces(writer, "\x01") == Pieces{});
}

BOOST_AUTO_TEST_CASE(merges_of_what_is_no_token_are_refused) {
    auto refused = [](std::vector<std::string> tokens, const std::string& merge, std::string_view part) {
        GgufWriter writer;
        std::vector<exa::model::samples::Token> all;
        for (std::string& token : tokens) all.push_back({.text = std::move(token)});
        exa::model::samples::write_tokens(all, false, writer);
        writer.set_strings("tokenizer.ggml.merges", std::vector<std::string>{merge});
        check_refused(writer, errc::tokenizer_invalid, part);
    };
    refused({"a", "b"}, "a b", "merge 0 'a b'");
    refused({"a", "ab"}, "a b", "no token");
    refused({"a", "b", "ab"}, "ab", "is not two tokens");
    refused({"a", "b", "ab"}, "", "is not two tokens");
}

BOOST_AUTO_TEST_CASE(a_control_token_cannot_be_merged_from_text) {
    GgufWriter writer;
    exa::model::samples::write_tokens({{"<"}, {">"}, {"<>", TokenKind::control}}, false, writer);
    writer.set_strings("tokenizer.ggml.merges", std::vector<std::string>{"< >"});
    check_refused(writer, errc::tokenizer_invalid, "no token");
}

BOOST_AUTO_TEST_CASE(unknown_pretokenizers_and_missing_merges_are_named) {
    check_refused(bpe({}, {}, "tekken"), errc::tokenizer_unsupported, "tokenizer.ggml.pre: 'tekken'");
    GgufWriter writer;
    exa::model::samples::write_tokens({{"a"}}, false, writer);
    check_refused(writer, errc::metadata_missing, "tokenizer.ggml.merges");
}

BOOST_AUTO_TEST_SUITE_END()
