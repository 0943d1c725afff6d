#include "openai/responses_request.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

namespace {

namespace openai = exa::openai;
using openai::Message;
using openai::parse_responses;
using openai::Role;

std::string body(const std::string& more) {
    return R"({"model":"m","input":"hi")" + more + "}";
}

openai::ApiError error(const std::string& text) {
    const auto parsed = parse_responses(text);
    BOOST_TEST_REQUIRE(!parsed.has_value(), text);
    return parsed.error();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(responses_request)

BOOST_AUTO_TEST_CASE(a_bare_input_is_what_the_user_says) {
    const auto request = parse_responses(body("")).value();
    BOOST_TEST(request.conversation.messages == (std::vector<Message>{{Role::user, "hi"}}));
    BOOST_TEST(!request.options.stream);
    BOOST_TEST(!request.options.max_tokens.has_value());
    BOOST_TEST(!request.settings.instructions.has_value());
    BOOST_TEST(request.settings.metadata == "{}");
}

BOOST_AUTO_TEST_CASE(every_setting_is_read_and_kept_to_be_told_back) {
    const auto good = parse_responses(body(R"(,"instructions":"be brief","max_output_tokens":9,"temperature":0.5,
        "top_p":0.25,"stream":true,"user":"u","prompt_cache_key":"k","metadata":{"a":"\""})"))
                          .value();
    BOOST_TEST(good.conversation.messages == (std::vector<Message>{{Role::system, "be brief"}, {Role::user, "hi"}}));
    BOOST_TEST(good.options.max_tokens.value() == 9u);
    BOOST_TEST(good.options.temperature == 0.5);
    BOOST_TEST(good.options.top_p == 0.25);
    BOOST_TEST(good.options.stream);
    BOOST_TEST(good.options.user.value() == "u");
    BOOST_TEST(good.options.prompt_cache_key.value() == "k");
    BOOST_TEST(good.settings.instructions.value() == "be brief");
    BOOST_TEST(good.settings.max_output_tokens.value() == 9u);
    BOOST_TEST(good.settings.metadata == R"({"a":"\""})");
}

BOOST_AUTO_TEST_CASE(an_input_may_be_a_whole_conversation) {
    const auto request = parse_responses(R"({"model":"m","input":[
        {"role":"developer","content":"d"},
        {"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]},
        {"type":"message","id":"msg_1","status":"completed","role":"assistant",
         "content":[{"type":"output_text","text":"c","annotations":[]}]}]})")
                             .value();
    BOOST_TEST(request.conversation.messages ==
               (std::vector<Message>{{Role::developer, "d"}, {Role::user, "a\nb"}, {Role::assistant, "c"}}));
}

BOOST_AUTO_TEST_CASE(logprobs_are_asked_for_by_include) {
    const auto parse = [](const char* more) { return parse_responses(body(more), {}, openai::features_all).value(); };
    BOOST_TEST(!parse(R"(,"include":["reasoning.encrypted_content"],"top_logprobs":3)").options.logprobs.has_value());
    BOOST_TEST(parse(R"(,"include":["message.output_text.logprobs"])").options.logprobs.value() == 0u);
    const auto top = parse(R"(,"include":["message.output_text.logprobs"],"top_logprobs":3)");
    BOOST_TEST(top.options.logprobs.value() == 3u);
    BOOST_TEST(top.settings.top_logprobs == 3u);
    BOOST_TEST(error(body(R"(,"include":["message.output_text.logprobs"])")).param.value() == "include");
    BOOST_TEST(error(body(R"(,"top_logprobs":50)")).param.value() == "top_logprobs");
}

BOOST_AUTO_TEST_CASE(what_would_need_a_store_or_tools_is_refused_by_name) {
    const std::pair<const char*, const char*> cases[] = {
        {R"(,"previous_response_id":"resp_1")", "previous_response_id"},
        {R"(,"conversation":"conv_1")", "conversation"},
        {R"(,"prompt":{"id":"p"})", "prompt"},
        {R"(,"background":true)", "background"},
        {R"(,"stop":"x")", "stop"},
        {R"(,"n":2)", "n"},
        {R"(,"response_format":{"type":"json_object"})", "response_format"},
        {R"(,"tools":[{"type":"web_search"}])", "tools"},
        {R"(,"tool_choice":"required")", "tool_choice"},
        {R"(,"text":{"format":{"type":"json_object"}})", "text.format"},
    };
    for (const auto& [more, param] : cases) {
        BOOST_TEST(error(body(more)).param.value() == param, more);
        BOOST_TEST(error(body(more)).code.value() == "unsupported_parameter", more);
    }
}

BOOST_AUTO_TEST_CASE(hints_and_defaults_are_left_alone) {
    const auto parsed = parse_responses(body(R"(,"store":true,"reasoning":{"effort":"low"},"truncation":"auto",
        "tools":[],"tool_choice":"auto","text":{"format":{"type":"text"},"verbosity":"low"},"background":false,
        "conversation":"",
        "parallel_tool_calls":true,"previous_response_id":null,"service_tier":"auto","made_up":[1])"));
    BOOST_TEST(parsed.has_value(), (parsed ? "" : parsed.error().message));
}

BOOST_AUTO_TEST_CASE(samplers_are_those_of_a_chat) {
    const auto options = parse_responses(body(R"(,"top_k":5,"min_p":0.5,"repetition_penalty":1.5,"ignore_eos":true)"),
                                         {}, openai::features_all)
                             .value()
                             .options;
    BOOST_TEST(options.top_k == 5u);
    BOOST_TEST(options.min_p == 0.5);
    BOOST_TEST(options.repetition_penalty == 1.5);
    BOOST_TEST(options.ignore_eos);
}

BOOST_AUTO_TEST_CASE(malformed_requests_name_their_place) {
    const std::pair<const char*, const char*> cases[] = {
        {R"({"model":"m"})", "input"},
        {R"({"input":"a"})", "model"},
        {R"({"model":"m","input":[]})", "input"},
        {R"({"model":"m","input":7})", "input"},
        {R"({"model":"m","input":["a"]})", "input[0]"},
        {R"({"model":"m","input":[{"type":"function_call_output"}]})", "input[0].type"},
        {R"({"model":"m","input":[{"content":"a"}]})", "input[0].role"},
        {R"({"model":"m","input":[{"role":"user"}]})", "input[0].content"},
        {R"({"model":"m","input":[{"role":"user","content":[{"type":"input_image"}]}]})", "input[0].content[0].type"},
        {R"({"model":"m","input":"a","instructions":["b"]})", "instructions"},
        {R"({"model":"m","input":"a","metadata":{"b":1}})", "metadata.b"},
        {R"({"model":"m","input":"a","include":"x"})", "include"},
        {R"({"model":"m","input":"a","max_output_tokens":0})", "max_output_tokens"},
        {R"({"model":"m","input":"a","text":"b"})", "text"},
        {R"({"model":"m","input":"a","truncation":"bogus"})", "truncation"},
        {R"({"model":"m","input":"a","text":{"format":"text"}})", "text.format"},
    };
    for (const auto& [text, param] : cases) BOOST_TEST(error(text).param.value() == param, text);
}

BOOST_AUTO_TEST_SUITE_END()
