#include "model/pretokenizer.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace {

using exa::model::Pretokenizer;
using exa::model::split_words;

// The words of `text` between bars.
std::string barred(Pretokenizer kind, std::string_view text) {
    std::string out = "|";
    split_words(kind, text, [&out](std::string_view word) {
        out += std::string(word) + "|";
        return true;
    });
    return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(pretokenizer)

BOOST_AUTO_TEST_CASE(gpt2_takes_a_space_with_the_word_behind_it) {
    constexpr auto kind = Pretokenizer::gpt2;
    BOOST_TEST(barred(kind, "Hello world, 12 3!") == "|Hello| world|,| 12| 3|!|");
    BOOST_TEST(barred(kind, "a  b") == "|a| | b|");
    BOOST_TEST(barred(kind, "a   ") == "|a|   |");
    BOOST_TEST(barred(kind, " ") == "| |");
    BOOST_TEST(barred(kind, "\ta") == "|\t|a|");
    BOOST_TEST(barred(kind, "a\n\n b") == "|a|\n\n| b|");
    BOOST_TEST(barred(kind, "x=y+2") == "|x|=|y|+|2|");
    BOOST_TEST(barred(kind, "") == "|");
}

BOOST_AUTO_TEST_CASE(gpt2_splits_contractions_of_lower_case_only) {
    constexpr auto kind = Pretokenizer::gpt2;
    BOOST_TEST(barred(kind, "it's we'll they've I'd I'm don't you're") ==
               "|it|'s| we|'ll| they|'ve| I|'d| I|'m| don|'t| you|'re|");
    BOOST_TEST(barred(kind, "IT'S") == "|IT|'|S|");
    BOOST_TEST(barred(kind, " 's") == "| '|s|");
    BOOST_TEST(barred(kind, "''s") == "|''|s|");
    BOOST_TEST(barred(kind, "'r") == "|'|r|");
    BOOST_TEST(barred(kind, "'") == "|'|");
}

BOOST_AUTO_TEST_CASE(smollm_makes_every_number_a_word) {
    constexpr auto kind = Pretokenizer::smollm;
    BOOST_TEST(barred(kind, "in 2024.") == "|in| |2|0|2|4|.|");
    BOOST_TEST(barred(kind, "x1y") == "|x|1|y|");
    BOOST_TEST(barred(kind, "  7  ") == "|  |7|  |");
    BOOST_TEST(barred(kind, "\u00bd\u0664\u4e00") == "|\u00bd|\u0664|\u4e00|");
    BOOST_TEST(barred(kind, "99") == "|9|9|");
}

BOOST_AUTO_TEST_CASE(combining_marks_are_no_letters) {
    BOOST_TEST(barred(Pretokenizer::smollm, "e\u0301a") == "|e|\u0301|a|");
    BOOST_TEST(barred(Pretokenizer::smollm, "\u0928\u092e\u0938\u094d\u0924\u0947") ==
               "|\u0928\u092e\u0938|\u094d|\u0924|\u0947|");
}

BOOST_AUTO_TEST_CASE(spaces_of_all_kinds_are_spaces_but_only_the_plain_one_joins_a_word) {
    BOOST_TEST(barred(Pretokenizer::gpt2, "a\u00a0b") == "|a|\u00a0|b|");
    BOOST_TEST(barred(Pretokenizer::gpt2, "a\u3000\u3000b") == "|a|\u3000|\u3000|b|");
    BOOST_TEST(barred(Pretokenizer::gpt2, "a\u200bb") == "|a|\u200b|b|");
}

BOOST_AUTO_TEST_CASE(llama_groups_three_digits_and_qwen2_one) {
    BOOST_TEST(barred(Pretokenizer::llama_bpe, "1234567 x") == "|123|456|7| x|");
    BOOST_TEST(barred(Pretokenizer::qwen2, "123 x") == "|1|2|3| x|");
    BOOST_TEST(barred(Pretokenizer::llama_bpe, "a 12") == "|a| |12|");
}

BOOST_AUTO_TEST_CASE(llama_takes_one_character_of_any_kind_with_the_word_behind_it) {
    constexpr auto kind = Pretokenizer::llama_bpe;
    BOOST_TEST(barred(kind, "(foo) .bar\tbaz") == "|(foo|)| .|bar|\tbaz|");
    BOOST_TEST(barred(kind, "\nfoo") == "|\n|foo|");
    BOOST_TEST(barred(kind, "1a") == "|1|a|");
    BOOST_TEST(barred(kind, "I'M it's 'TWAS") == "|I|'M| it|'s| '|TWAS|");
}

BOOST_AUTO_TEST_CASE(llama_keeps_line_ends_with_what_is_before_them) {
    constexpr auto kind = Pretokenizer::llama_bpe;
    BOOST_TEST(barred(kind, "a;\n\nb") == "|a|;\n\n|b|");
    BOOST_TEST(barred(kind, "a \r\n  b") == "|a| \r\n| | b|");
    BOOST_TEST(barred(kind, "a  \n \n   b") == "|a|  \n \n|  | b|");
    BOOST_TEST(barred(kind, "a   ") == "|a|   |");
}

BOOST_AUTO_TEST_CASE(malformed_bytes_are_characters_of_no_class) {
    for (const auto kind : {Pretokenizer::smollm, Pretokenizer::llama_bpe, Pretokenizer::qwen2})
        BOOST_TEST(barred(kind, "1\xff\xfe 1") == "|1|\xff\xfe| |1|");
    BOOST_TEST(barred(Pretokenizer::gpt2, "1\xff\xfe 1") == "|1|\xff\xfe| 1|");
}

BOOST_AUTO_TEST_CASE(names_of_files_are_known) {
    BOOST_TEST(exa::model::parse_pretokenizer("smollm") == Pretokenizer::smollm);
    BOOST_TEST(exa::model::parse_pretokenizer("llama-bpe") == Pretokenizer::llama_bpe);
    BOOST_TEST(exa::model::parse_pretokenizer("qwen2") == Pretokenizer::qwen2);
    BOOST_TEST(exa::model::parse_pretokenizer("gpt-2") == Pretokenizer::gpt2);
    BOOST_TEST(exa::model::parse_pretokenizer("default") == Pretokenizer::gpt2);
    BOOST_TEST(!exa::model::parse_pretokenizer("tekken").has_value());
    BOOST_TEST(!exa::model::parse_pretokenizer("").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
