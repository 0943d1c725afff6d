#include "openai/logprobs.h"
#include "support/print.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>
#include <limits>

namespace {

namespace openai = exa::openai;
namespace json = boost::json;

json::value entry(std::string_view bytes, const openai::TokenLogprobs& token) {
    std::string out;
    openai::append_logprob(out, bytes, token);
    return json::parse(out);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(logprobs)

BOOST_AUTO_TEST_CASE(a_token_comes_with_its_bytes_and_the_likeliest) {
    const auto one = entry("Hi", {-0.25F, {{"Hi", -0.25F}, {"\n", -1.5F}}});
    BOOST_TEST(one == (json::value{{"token", "Hi"},
                                   {"logprob", -0.25},
                                   {"bytes", {72, 105}},
                                   {"top_logprobs",
                                    {{{"token", "Hi"}, {"logprob", -0.25}, {"bytes", {72, 105}}},
                                     {{"token", "\n"}, {"logprob", -1.5}, {"bytes", json::array{10}}}}}}));
    BOOST_TEST(entry("x", {-1.0F, {}}).at("top_logprobs").as_array().empty());
}

BOOST_AUTO_TEST_CASE(half_a_code_point_keeps_its_bytes) {
    const auto one = entry("\xE2\x82", {-0.5F, {}});
    BOOST_TEST(one.at("token") == "\xEF\xBF\xBD");
    BOOST_TEST(one.at("bytes") == (json::value{226, 130}));
}

BOOST_AUTO_TEST_CASE(the_impossible_is_minus_9999) {
    const auto one = entry("x", {-std::numeric_limits<float>::infinity(), {{"y", -1e30F}}});
    BOOST_TEST(one.at("logprob") == -9999);
    BOOST_TEST(one.at("top_logprobs").at(0).at("logprob") == -9999);
}

BOOST_AUTO_TEST_CASE(completions_have_four_lists_in_step) {
    openai::CompletionLogprobs list;
    BOOST_TEST(list.empty());
    list.add("a", {-0.5F, {{"a", -0.5F}, {"b", -1.0F}}}, 3);
    list.add("\xE2\x82", {-2.0F, {{"\xE2\x82", -2.0F}, {"\xE2\x83", -3.0F}}}, 4);
    BOOST_TEST(!list.empty());
    BOOST_TEST(
        (json::parse(list.json()) == json::value{{"tokens", {"a", R"(bytes:\xe2\x82)"}},
                                                 {"token_logprobs", {-0.5, -2}},
                                                 {"top_logprobs",
                                                  {json::object{{"a", -0.5}, {"b", -1}},
                                                   json::object{{R"(bytes:\xe2\x82)", -2}, {R"(bytes:\xe2\x83)", -3}}}},
                                                 {"text_offset", {3, 4}}}));
}

BOOST_AUTO_TEST_CASE(no_tokens_are_four_empty_lists) {
    const auto empty = json::parse(openai::CompletionLogprobs().json());
    for (const char* list : {"tokens", "token_logprobs", "top_logprobs", "text_offset"})
        BOOST_TEST(empty.at(list).as_array().empty(), list);
}

BOOST_AUTO_TEST_SUITE_END()
