#include "openai/message.h"

#include <boost/test/unit_test.hpp>

#include "openai/json.h"
#include "support/print.h"

namespace {

namespace openai = exa::openai;
using openai::Message;
using openai::Role;

openai::ApiResult<std::vector<Message>> parse(const std::string& list) {
    const auto body = openai::parse_object(R"({"messages":)" + list + "}", 1 << 20);
    auto parsed = openai::parse_conversation(openai::Fields(body.value().get_object(), {}), {});
    if (!parsed) return parsed.error();
    return std::move(parsed).value().messages;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(message)

BOOST_AUTO_TEST_CASE(an_assistant_may_have_said_nothing) {
    for (const char* one : {R"([{"role":"assistant","content":null}])", R"([{"role":"assistant"}])",
                            R"([{"role":"assistant","content":null,"tool_calls":[],"refusal":null}])"})
        BOOST_TEST(parse(one).value() == (std::vector<Message>{{Role::assistant, ""}}), one);
    for (const char* role : {"user", "system", "developer", "tool"})
        BOOST_TEST(parse(R"([{"role":")" + std::string(role) + R"(","content":null}])").error().param.value() ==
                   "messages[0].content");
}

BOOST_AUTO_TEST_CASE(a_call_of_a_tool_in_the_history_is_refused_by_its_path) {
    const auto error =
        parse(R"([{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"c"}]}])")
            .error();
    BOOST_TEST(error.param.value() == "messages[1].tool_calls");
    BOOST_TEST(error.code.value() == "unsupported_parameter");
}

BOOST_AUTO_TEST_CASE(a_refusal_is_text_too) {
    const auto messages = parse(R"([{"role":"assistant","content":[{"type":"text","text":"a"},
        {"type":"refusal","refusal":"no"}]}])")
                              .value();
    BOOST_TEST(messages[0].content == "a\nno");
}

BOOST_AUTO_TEST_CASE(no_parts_are_an_empty_content) {
    BOOST_TEST(parse(R"([{"role":"user","content":[]}])").value()[0].content == "");
}

BOOST_AUTO_TEST_CASE(names_and_other_unknown_members_are_left_alone) {
    BOOST_TEST(parse(R"([{"role":"user","content":"a","name":"bob","weight":1}])").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
