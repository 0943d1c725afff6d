#include "openai/tokenize.h"
#include "support/print.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

namespace {

namespace openai = exa::openai;
namespace json = boost::json;
using openai::parse_detokenize;
using openai::parse_tokenize;

}  // namespace

BOOST_AUTO_TEST_SUITE(tokenize)

BOOST_AUTO_TEST_CASE(a_prompt_has_special_tokens_unless_told) {
    const auto request = parse_tokenize(R"({"model":"m","prompt":"hi"})").value();
    BOOST_TEST(request.model == "m");
    BOOST_TEST(std::get<std::string>(request.text) == "hi");
    BOOST_TEST(request.add_special_tokens);
    BOOST_TEST(!request.return_token_strs);
    BOOST_TEST(!parse_tokenize(R"({"prompt":"","add_special_tokens":false})").value().add_special_tokens);
}

BOOST_AUTO_TEST_CASE(messages_have_those_of_their_template_only) {
    const auto request =
        parse_tokenize(R"({"messages":[{"role":"user","content":"hi"}],"return_token_strs":true})").value();
    const auto& conversation = std::get<openai::Conversation>(request.text);
    BOOST_TEST(conversation.messages == (std::vector<openai::Message>{{openai::Role::user, "hi"}}));
    BOOST_TEST(!request.add_special_tokens);
    BOOST_TEST((conversation.end == openai::PromptEnd::opens_answer));
    BOOST_TEST(request.return_token_strs);
    const auto end = [](const std::string& more) {
        const auto parsed = parse_tokenize(R"({"messages":[{"role":"user","content":"hi"}])" + more + "}").value();
        return std::get<openai::Conversation>(parsed.text).end;
    };
    BOOST_TEST((end(R"(,"add_generation_prompt":false)") == openai::PromptEnd::nothing));
    BOOST_TEST((end(R"(,"continue_final_message":true)") == openai::PromptEnd::continues_last));
}

BOOST_AUTO_TEST_CASE(a_model_may_be_left_out) {
    BOOST_TEST(parse_tokenize(R"({"prompt":"hi"})").value().model == "");
    BOOST_TEST(parse_detokenize(R"({"tokens":[]})").value().model == "");
}

BOOST_AUTO_TEST_CASE(malformed_requests_name_their_place) {
    const std::pair<const char*, const char*> cases[] = {
        {"{}", "prompt"},
        {R"({"prompt":1})", "prompt"},
        {R"({"prompt":["a"]})", "prompt"},
        {R"({"prompt":"a","messages":[{"role":"user","content":"b"}]})", "prompt"},
        {R"({"messages":[]})", "messages"},
        {R"({"messages":[{"role":"user"}]})", "messages[0].content"},
        {R"({"messages":[{"role":"user","content":"b"}],"tools":[{}]})", "tools"},
        {R"({"messages":[{"role":"user","content":"b"}],"chat_template":"x"})", "chat_template"},
        {R"({"prompt":"a","add_special_tokens":1})", "add_special_tokens"},
        {R"({"prompt":"a","model":1})", "model"},
    };
    for (const auto& [body, param] : cases) BOOST_TEST(parse_tokenize(body).error().param.value() == param, body);
    BOOST_TEST(parse_detokenize("{}").error().param.value() == "tokens");
    BOOST_TEST(parse_detokenize(R"({"tokens":[-1]})").error().param.value() == "tokens[0]");
    BOOST_TEST(parse_detokenize(R"({"tokens":"1"})").error().param.value() == "tokens");
    BOOST_TEST(parse_detokenize("[").error().code.value() == "invalid_json");
}

BOOST_AUTO_TEST_CASE(tokens_come_with_their_count_and_the_context) {
    const std::vector<std::uint32_t> tokens = {5, 4294967295};
    BOOST_TEST(
        (json::parse(openai::tokenize_json(tokens, std::nullopt, 2048)) ==
         json::value{{"count", 2}, {"max_model_len", 2048}, {"tokens", {5, 4294967295}}, {"token_strs", nullptr}}));
    const auto with_strings = json::parse(openai::tokenize_json(tokens, {{"a\"", "\xE2\x82"}}, 2048));
    BOOST_TEST(with_strings.at("token_strs") == (json::value{"a\"", "\xEF\xBF\xBD"}));
    BOOST_TEST(json::parse(openai::tokenize_json({}, std::nullopt, 1)).at("count") == 0);
}

BOOST_AUTO_TEST_CASE(text_of_tokens_is_valid_utf8) {
    BOOST_TEST((parse_detokenize(R"({"tokens":[1,2]})").value().tokens) == (std::vector<std::uint32_t>{1, 2}));
    BOOST_TEST(json::parse(openai::detokenize_json("h\n\xFF")).at("prompt") == "h\n\xEF\xBF\xBD");
}

BOOST_AUTO_TEST_SUITE_END()
