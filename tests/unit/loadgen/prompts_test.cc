#include "loadgen/prompts.h"

#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include "loadgen/errc.h"
#include "support/print.h"

using namespace exa;
using namespace exa::loadgen;

BOOST_AUTO_TEST_SUITE(prompts)

BOOST_AUTO_TEST_CASE(each_line_of_text_is_a_prompt_and_blank_ones_are_none) {
    const auto prompts = parse_prompts("Say \"hi\"\r\n\n   \nTab\there").value();
    BOOST_TEST_REQUIRE(prompts.size() == 2u);
    BOOST_TEST(prompts[0].turns.front() == R"("Say \"hi\"")");
    BOOST_TEST(prompts[1].turns.front() == R"("Tab\there")");
}

BOOST_AUTO_TEST_CASE(json_lines_may_be_prompts_messages_or_conversations) {
    const auto prompts =
        parse_prompts(
            R"({"prompt":"one","output_tokens":7})"
            "\n"
            R"({"messages":[{"role":"system","content":"be kind"},{"role":"user","content":"two"}]})"
            "\n"
            R"({"id":1,"conversations":[{"from":"human","value":"a"},{"from":"gpt","value":"b"},{"from":"human","value":"c"}]})")
            .value();
    BOOST_TEST_REQUIRE(prompts.size() == 3u);
    BOOST_TEST(prompts[0].output_tokens == 7u);
    BOOST_TEST(prompts[1].opening == R"({"role":"system","content":"be kind"},)");
    BOOST_TEST(prompts[1].turns.front() == R"("two")");
    BOOST_TEST_REQUIRE(prompts[2].turns.size() == 2u);
    BOOST_TEST(prompts[2].turns[1] == R"("c")");
}

BOOST_AUTO_TEST_CASE(a_bad_line_is_named_by_its_number) {
    for (const char* line :
         {"{", "{}", R"({"messages":[]})", R"({"messages":[{"role":"system","content":"x"}]})", R"({"messages":[3]})",
          R"({"conversations":[{"from":"gpt","value":"x"}]})", R"({"prompt":5})"}) {
        const auto parsed = parse_prompts("fine\n\n" + std::string(line) + "\nfine");
        BOOST_TEST_REQUIRE(!parsed.has_value());
        BOOST_TEST(parsed.error().code == errc::bad_prompts);
        BOOST_TEST(parsed.error().detail.starts_with("line 3: "));
    }
    BOOST_TEST(!parse_prompts("\n \n").has_value());
}

BOOST_AUTO_TEST_CASE(the_completions_api_takes_only_texts) {
    const auto texts = parse_prompts("one\n{\"prompt\":\"two\"}").value();
    BOOST_TEST(check_prompts(texts, Api::completions).has_value());
    for (const char* line : {R"({"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}]})",
                             R"({"messages":[{"role":"user","content":[{"type":"text","text":"u"}]}]})"}) {
        const auto prompts = parse_prompts(line).value();
        BOOST_TEST(check_prompts(prompts, Api::chat).has_value());
        BOOST_TEST(!check_prompts(prompts, Api::completions).has_value());
    }
}

BOOST_AUTO_TEST_CASE(invalid_text_becomes_valid_json) {
    const std::string text = to_json_text("a\xff\x01\"");
    boost::json::error_code code;
    const auto value = boost::json::parse(text, code);
    BOOST_TEST(!code);
    BOOST_TEST(value.is_string());
}

BOOST_AUTO_TEST_CASE(made_up_words_are_as_many_as_asked_and_need_no_escape) {
    Rng rng(4);
    const std::string text = make_words(rng, 500);
    BOOST_TEST(std::ranges::count(text, ' ') == 499);
    BOOST_TEST(to_json_text(text) == "\"" + text + "\"");
    BOOST_TEST(make_words(rng, 0).empty());
}

BOOST_AUTO_TEST_SUITE_END()
