#include "openai/prompt.h"

#include <boost/test/unit_test.hpp>

#include "openai/json.h"
#include "support/print.h"

namespace {

namespace openai = exa::openai;
using Ids = std::vector<std::uint32_t>;

openai::ApiResult<std::vector<openai::Prompt>> parse(const std::string& value, std::size_t prompts_max = 4) {
    const auto body = openai::parse_object(R"({"prompt":)" + value + "}", 1 << 20);
    return openai::parse_prompts(openai::Fields(body.value().get_object(), {}), "prompt", prompts_max);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(prompt)

BOOST_AUTO_TEST_CASE(a_prompt_is_text_or_token_ids) {
    const auto one = [](const std::string& value) {
        auto prompts = parse(value).value();
        BOOST_TEST_REQUIRE(prompts.size() == 1u);
        return prompts.front();
    };
    BOOST_TEST(std::get<std::string>(one(R"("hi")")) == "hi");
    BOOST_TEST(std::get<std::string>(one(R"(["hi"])")) == "hi");
    BOOST_TEST(std::get<std::string>(one(R"("")")) == "");
    BOOST_TEST(std::get<Ids>(one("[1,2,4294967295]")) == (Ids{1, 2, 4294967295}));
    BOOST_TEST(std::get<Ids>(one("[[7]]")) == Ids{7});
}

BOOST_AUTO_TEST_CASE(several_prompts_keep_their_order) {
    const auto texts = parse(R"(["b","a","b"])").value();
    BOOST_TEST(texts == (std::vector<openai::Prompt>{"b", "a", "b"}));
    const auto ids = parse("[[3],[1,2]]").value();
    BOOST_TEST(ids == (std::vector<openai::Prompt>{Ids{3}, Ids{1, 2}}));
}

BOOST_AUTO_TEST_CASE(prompts_are_bounded_in_number) {
    BOOST_TEST(parse(R"(["a","b"])", 2).has_value());
    BOOST_TEST(parse(R"(["a","b","c"])", 2).error().code.value() == "invalid_value");
    // Ids of one prompt are no prompts.
    BOOST_TEST(parse("[1,2,3]", 2).has_value());
}

BOOST_AUTO_TEST_CASE(malformed_prompts_name_their_place) {
    const std::pair<const char*, const char*> cases[] = {
        {"1", "prompt"},
        {"{}", "prompt"},
        {"null", "prompt"},
        {"[]", "prompt"},
        {"[[]]", "prompt[0]"},
        {"[{}]", "prompt[0]"},
        {"[1,\"a\"]", "prompt[1]"},
        {"[\"a\",1]", "prompt[1]"},
        {"[[1],\"a\"]", "prompt[1]"},
        {"[[1],[]]", "prompt[1]"},
        {"[-1]", "prompt[0]"},
        {"[4294967296]", "prompt[0]"},
        {"[1.5]", "prompt[0]"},
        {"[[1,true]]", "prompt[0][1]"},
    };
    for (const auto& [value, param] : cases) BOOST_TEST(parse(value).error().param.value() == param, value);
}

BOOST_AUTO_TEST_CASE(token_ids_are_one_array) {
    const auto ids = [](const std::string& value) {
        const auto body = openai::parse_object(R"({"tokens":)" + value + "}", 1 << 20);
        return openai::parse_token_ids(openai::Fields(body.value().get_object(), {}), "tokens");
    };
    BOOST_TEST(ids("[1,2]").value() == (Ids{1, 2}));
    BOOST_TEST(ids("[]").value().empty());
    BOOST_TEST(ids("[[1]]").error().param.value() == "tokens[0]");
    BOOST_TEST(ids("null").error().code.value() == "missing_required_parameter");
    BOOST_TEST(ids("\"a\"").error().code.value() == "invalid_type");
}

BOOST_AUTO_TEST_SUITE_END()
