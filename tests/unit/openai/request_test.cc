#include "openai/request.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

namespace {

namespace openai = exa::openai;
using openai::parse_chat;
using openai::parse_completion;

// A valid chat body with `more` (", ..." or empty) behind its two required members.
std::string chat(const std::string& more) {
    return R"({"model":"m","messages":[{"role":"user","content":"hi"}])" + more + "}";
}

std::string completion(const std::string& more) {
    return R"({"model":"m","prompt":"hi")" + more + "}";
}

std::string messages(const std::string& list) {
    return R"({"model":"m","messages":)" + list + "}";
}

openai::ApiError chat_error(const std::string& body) {
    auto parsed = parse_chat(body);
    BOOST_TEST_REQUIRE(!parsed.has_value(), body);
    return parsed.error();
}

openai::ApiError completion_error(const std::string& body) {
    auto parsed = parse_completion(body);
    BOOST_TEST_REQUIRE(!parsed.has_value(), body);
    return parsed.error();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(request)

BOOST_AUTO_TEST_CASE(a_bare_chat_has_the_api_defaults) {
    const auto request = parse_chat(chat("")).value();
    BOOST_TEST(request.options.model == "m");
    BOOST_TEST(!request.options.stream);
    BOOST_TEST(!request.options.include_usage);
    BOOST_TEST(!request.options.max_tokens.has_value());
    BOOST_TEST(request.options.temperature == 1.0);
    BOOST_TEST(request.options.top_p == 1.0);
    BOOST_TEST(!request.options.seed.has_value());
    BOOST_TEST(request.options.stop.empty());
    BOOST_TEST(request.conversation.messages == (std::vector<openai::Message>{{openai::Role::user, "hi"}}));
}

BOOST_AUTO_TEST_CASE(every_option_is_read) {
    const auto options = parse_chat(chat(R"(,"stream":true,"stream_options":{"include_usage":true},"max_tokens":7,
        "temperature":0,"top_p":0.5,"seed":-1,"stop":["a","b"],"user":"u","prompt_cache_key":"k")"))
                             .value()
                             .options;
    BOOST_TEST(options.stream);
    BOOST_TEST(options.include_usage);
    BOOST_TEST(options.max_tokens.value() == 7u);
    BOOST_TEST(options.temperature == 0.0);
    BOOST_TEST(options.top_p == 0.5);
    BOOST_TEST(options.seed.value() == ~std::uint64_t{0});
    BOOST_TEST(options.stop == (std::vector<std::string>{"a", "b"}));
    BOOST_TEST(options.user.value() == "u");
    BOOST_TEST(options.prompt_cache_key.value() == "k");
}

BOOST_AUTO_TEST_CASE(all_five_roles_are_known) {
    const auto request = parse_chat(messages(R"([{"role":"system","content":"a"},{"role":"developer","content":"b"},
        {"role":"user","content":"c"},{"role":"assistant","content":"d"},{"role":"tool","content":"e"}])"))
                             .value();
    const openai::Role roles[] = {openai::Role::system, openai::Role::developer, openai::Role::user,
                                  openai::Role::assistant, openai::Role::tool};
    BOOST_TEST_REQUIRE(request.conversation.messages.size() == 5u);
    for (std::size_t i = 0; i < 5; ++i) BOOST_TEST(request.conversation.messages[i].role == roles[i]);
    BOOST_TEST(openai::to_string(openai::Role::developer) == "developer");
}

BOOST_AUTO_TEST_CASE(text_parts_are_joined_by_a_newline) {
    const auto request =
        parse_chat(messages(R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}])"))
            .value();
    BOOST_TEST(request.conversation.messages[0].content == "a\nb");
}

BOOST_AUTO_TEST_CASE(an_image_is_refused_by_its_path) {
    const auto error = chat_error(messages(R"([{"role":"user","content":"a"},{"role":"user","content":[
        {"type":"text","text":"what is this"},{"type":"image_url","image_url":{"url":"data:"}}]}])"));
    BOOST_TEST(error.status == 400);
    BOOST_TEST(error.param.value() == "messages[1].content[1].type");
    BOOST_TEST(error.code.value() == "unsupported_parameter");
}

BOOST_AUTO_TEST_CASE(malformed_messages_name_their_place) {
    const std::pair<const char*, const char*> cases[] = {
        {"{}", "messages"},
        {"[]", "messages"},
        {"[1]", "messages[0]"},
        {R"([{"content":"a"}])", "messages[0].role"},
        {R"([{"role":1,"content":"a"}])", "messages[0].role"},
        {R"([{"role":"root","content":"a"}])", "messages[0].role"},
        {R"([{"role":"user"}])", "messages[0].content"},
        {R"([{"role":"user","content":null}])", "messages[0].content"},
        {R"([{"role":"user","content":1}])", "messages[0].content"},
        {R"([{"role":"user","content":["a"]}])", "messages[0].content[0]"},
        {R"([{"role":"user","content":[{"text":"a"}]}])", "messages[0].content[0].type"},
        {R"([{"role":"user","content":[{"type":"text"}]}])", "messages[0].content[0].text"},
        {R"([{"role":"user","content":[{"type":"text","text":1}]}])", "messages[0].content[0].text"},
        {R"([{"role":"assistant","content":"a","tool_calls":[{}]}])", "messages[0].tool_calls"},
    };
    for (const auto& [list, param] : cases) BOOST_TEST(chat_error(messages(list)).param.value() == param, list);
}

BOOST_AUTO_TEST_CASE(required_members_are_named_when_missing) {
    BOOST_TEST(chat_error("{}").param.value() == "model");
    BOOST_TEST(chat_error(R"({"model":"","messages":[]})").param.value() == "model");
    BOOST_TEST(chat_error(R"({"model":"m"})").param.value() == "messages");
    BOOST_TEST(completion_error(R"({"model":"m"})").param.value() == "prompt");
    BOOST_TEST(completion_error(R"({"model":"m"})").code.value() == "missing_required_parameter");
}

BOOST_AUTO_TEST_CASE(numbers_outside_their_range_name_value_and_range) {
    const std::pair<const char*, const char*> cases[] = {
        {R"(,"temperature":2.1)", "temperature"},
        {R"(,"temperature":-0.1)", "temperature"},
        {R"(,"top_p":-0.01)", "top_p"},
        {R"(,"top_p":1.01)", "top_p"},
        {R"(,"max_tokens":0)", "max_tokens"},
        {R"(,"max_tokens":-5)", "max_tokens"},
        {R"(,"max_tokens":1.5)", "max_tokens"},
        {R"(,"max_completion_tokens":4294967296)", "max_completion_tokens"},
        {R"(,"seed":1.5)", "seed"},
        {R"(,"n":0)", "n"},
    };
    for (const auto& [more, param] : cases) {
        const auto error = chat_error(chat(more));
        BOOST_TEST(error.param.value() == param, more);
        BOOST_TEST(error.code.value() == "invalid_value", more);
    }
    const auto error = chat_error(chat(R"(,"temperature":2.5)"));
    BOOST_TEST(error.message.find("from 0 to 2") != std::string::npos);
    BOOST_TEST(error.message.find("2.5E0") != std::string::npos, error.message);
}

BOOST_AUTO_TEST_CASE(the_ends_of_ranges_belong_to_them) {
    for (const char* more : {R"(,"temperature":0)", R"(,"temperature":2)", R"(,"top_p":1)", R"(,"top_p":0)",
                             R"(,"max_tokens":1)", R"(,"n":1)"})
        BOOST_TEST(parse_chat(chat(more)).has_value(), more);
}

BOOST_AUTO_TEST_CASE(wrong_types_are_named) {
    for (const char* more : {R"(,"stream":"yes")", R"(,"stream_options":1)", R"(,"stream_options":{"include_usage":1})",
                             R"(,"max_tokens":"5")", R"(,"temperature":"hot")", R"(,"top_p":[])", R"(,"seed":"x")",
                             R"(,"stop":1)", R"(,"stop":[1])", R"(,"user":1)", R"(,"prompt_cache_key":{})",
                             R"(,"n":"1")", R"(,"presence_penalty":"a")", R"(,"logprobs":1)"})
        BOOST_TEST(chat_error(chat(more)).code.value() == "invalid_type", more);
}

BOOST_AUTO_TEST_CASE(what_is_not_built_is_refused_by_name) {
    const std::pair<const char*, const char*> cases[] = {
        {R"(,"n":2)", "n"},
        {R"(,"presence_penalty":0.5)", "presence_penalty"},
        {R"(,"frequency_penalty":-1)", "frequency_penalty"},
        {R"(,"logprobs":true)", "logprobs"},
        {R"(,"top_logprobs":3)", "top_logprobs"},
        {R"(,"tools":[{"type":"function"}])", "tools"},
        {R"(,"tool_choice":"required")", "tool_choice"},
        {R"(,"functions":[{}])", "functions"},
        {R"(,"function_call":{"name":"f"})", "function_call"},
        {R"(,"response_format":{"type":"json_object"})", "response_format"},
        {R"(,"guided_choice":["yes","no"])", "guided_choice"},
        {R"(,"structured_outputs":{"choice":["yes","no"]})", "structured_outputs"},
        {R"(,"json_schema":{"type":"object"})", "json_schema"},
        {R"(,"chat_template":"{{ messages }}")", "chat_template"},
        {R"(,"audio":{"voice":"a"})", "audio"},
        {R"(,"modalities":["text","audio"])", "modalities"},
        {R"(,"logit_bias":{"5":1})", "logit_bias"},
    };
    for (const auto& [more, param] : cases) {
        const auto error = chat_error(chat(more));
        BOOST_TEST(error.status == 400, more);
        BOOST_TEST(error.param.value() == param, more);
        BOOST_TEST(error.code.value() == "unsupported_parameter", more);
        BOOST_TEST(error.message.find(param) != std::string::npos, more);
    }
}

BOOST_AUTO_TEST_CASE(values_that_ask_for_nothing_are_accepted) {
    const auto parsed = parse_chat(chat(R"(,"n":1,"presence_penalty":0,"frequency_penalty":0.0,"logprobs":false,
        "top_logprobs":0,"tools":[],"tool_choice":"none","function_call":"auto","response_format":{"type":"text"},
        "modalities":["text"],"logit_bias":{},"stop":null,"stream":null,"max_tokens":null,"seed":null)"));
    BOOST_TEST(parsed.has_value(), (parsed ? "" : parsed.error().message));
}

BOOST_AUTO_TEST_CASE(unknown_fields_are_accepted) {
    BOOST_TEST(parse_chat(chat(R"(,"store":false,"metadata":{"a":[1]},"made_up":1e3)")).has_value());
}

BOOST_AUTO_TEST_CASE(the_new_name_of_max_tokens_wins) {
    const auto max_tokens = [](const char* more) { return parse_chat(chat(more)).value().options.max_tokens.value(); };
    BOOST_TEST(max_tokens(R"(,"max_completion_tokens":9)") == 9u);
    BOOST_TEST(max_tokens(R"(,"max_completion_tokens":9,"max_tokens":8)") == 9u);
    BOOST_TEST(max_tokens(R"(,"max_tokens":8,"max_completion_tokens":null)") == 8u);
    BOOST_TEST(max_tokens(R"(,"max_completion_tokens":9,"max_tokens":0)") == 9u);
    BOOST_TEST(max_tokens(R"(,"max_completion_tokens":9,"max_tokens":-1)") == 9u);
}

BOOST_AUTO_TEST_CASE(stop_strings_are_bounded) {
    BOOST_TEST((parse_chat(chat(R"(,"stop":"x")")).value().options.stop) == std::vector<std::string>{"x"});
    BOOST_TEST(parse_chat(chat(R"(,"stop":["a","b","c","d"])")).has_value());
    std::string many = "\"a\"";
    for (int i = 1; i < 16; ++i) many += ",\"a\"";
    BOOST_TEST(parse_chat(chat(R"(,"stop":[)" + many + "]")).has_value());
    BOOST_TEST(chat_error(chat(R"(,"stop":[)" + many + ",\"a\"]")).code.value() == "invalid_value");
    for (const char* more : {R"(,"stop":"")", R"(,"stop":[])", R"(,"stop":["",""])"})
        BOOST_TEST(parse_chat(chat(more)).value().options.stop.empty(), more);
    BOOST_TEST(parse_chat(chat(R"(,"stop":")" + std::string(1024, 'x') + "\"")).has_value());
    BOOST_TEST(chat_error(chat(R"(,"stop":")" + std::string(1025, 'x') + "\"")).code.value() == "invalid_value");
}

BOOST_AUTO_TEST_CASE(how_a_prompt_ends_follows_from_messages_and_flags) {
    using openai::PromptEnd;
    const auto end = [](const std::string& last, const std::string& more) {
        return parse_chat(R"({"model":"m","messages":[{"role":"user","content":"a"})" + last + "]" + more + "}")
            .value()
            .conversation.end;
    };
    const std::string assistant = R"(,{"role":"assistant","content":"1. Red"})";
    const std::string parts = R"(,{"role":"assistant","content":[{"type":"text","text":"1. Red"}]})";
    const std::string prefix = R"(,{"role":"assistant","content":"1. Red","prefix":true})";
    BOOST_TEST((end("", "") == PromptEnd::opens_answer));
    BOOST_TEST((end("", R"(,"add_generation_prompt":false)") == PromptEnd::nothing));
    BOOST_TEST((end("", R"(,"continue_final_message":true)") == PromptEnd::continues_last));
    for (const std::string& last : {assistant, parts, prefix}) {
        BOOST_TEST((end(last, "") == PromptEnd::continues_last));
        BOOST_TEST((end(last, R"(,"continue_final_message":true,"add_generation_prompt":false)") ==
                    PromptEnd::continues_last));
        BOOST_TEST((end(last, R"(,"continue_final_message":false)") == PromptEnd::opens_answer));
        BOOST_TEST((end(last, R"(,"add_generation_prompt":true)") == PromptEnd::opens_answer));
        BOOST_TEST((end(last, R"(,"add_generation_prompt":false)") == PromptEnd::nothing));
    }
    BOOST_TEST(chat_error(chat(R"(,"continue_final_message":true,"add_generation_prompt":true)")).param.value() ==
               "continue_final_message");
}

BOOST_AUTO_TEST_CASE(only_the_last_message_is_a_prefix) {
    BOOST_TEST(
        chat_error(messages(R"([{"role":"assistant","content":"a","prefix":true},{"role":"user","content":"b"}])"))
            .param.value() == "messages[0].prefix");
    BOOST_TEST(chat_error(messages(R"([{"role":"user","content":"a","prefix":true}])")).param.value() ==
               "messages[0].prefix");
}

BOOST_AUTO_TEST_CASE(messages_are_bounded_in_number) {
    openai::Limits limits;
    limits.messages_max = 2;
    const std::string one = R"({"role":"user","content":"a"})";
    BOOST_TEST(parse_chat(messages("[" + one + "," + one + "]"), limits).has_value());
    BOOST_TEST(parse_chat(messages("[" + one + "," + one + "," + one + "]"), limits).error().param.value() ==
               "messages");
}

BOOST_AUTO_TEST_CASE(several_prompts_need_an_engine_of_several_choices) {
    for (const char* list : {R"(["a","b"])", "[[1],[2]]"}) {
        const std::string body = R"({"model":"m","prompt":)" + std::string(list) + "}";
        const auto error = completion_error(body);
        BOOST_TEST(error.code.value() == "unsupported_parameter");
        BOOST_TEST(error.param.value() == "prompt");
        BOOST_TEST(parse_completion(body, {}, openai::features_all).value().prompts.size() == 2u);
    }
}

BOOST_AUTO_TEST_CASE(all_prompts_share_the_bound_on_choices) {
    const auto parse = [](int n) {
        return parse_completion(R"({"model":"m","prompt":["a","b"],"n":)" + std::to_string(n) + "}", {},
                                openai::features_all);
    };
    BOOST_TEST(parse(64).has_value());
    BOOST_TEST(parse(65).error().param.value() == "n");
}

BOOST_AUTO_TEST_CASE(logprobs_of_a_chat_are_a_switch_and_a_count) {
    const auto logprobs = [](const char* more) {
        return parse_chat(chat(more), {}, openai::features_all).value().options.logprobs;
    };
    BOOST_TEST(!logprobs("").has_value());
    BOOST_TEST(!logprobs(R"(,"logprobs":false,"top_logprobs":0)").has_value());
    BOOST_TEST(logprobs(R"(,"logprobs":true)").value() == 0u);
    BOOST_TEST(logprobs(R"(,"logprobs":true,"top_logprobs":20)").value() == 20u);
    for (const char* more :
         {R"(,"top_logprobs":2)", R"(,"logprobs":true,"top_logprobs":21)", R"(,"logprobs":true,"top_logprobs":-1)"})
        BOOST_TEST(parse_chat(chat(more), {}, openai::features_all).error().param.value() == "top_logprobs", more);
}

BOOST_AUTO_TEST_CASE(logprobs_of_a_completion_are_a_count_that_may_be_zero) {
    const auto logprobs = [](const char* more) {
        return parse_completion(completion(more), {}, openai::features_all).value().options.logprobs;
    };
    BOOST_TEST(!logprobs(R"(,"logprobs":null)").has_value());
    BOOST_TEST(logprobs(R"(,"logprobs":0)").value() == 0u);
    BOOST_TEST(logprobs(R"(,"logprobs":5)").value() == 5u);
    const auto parsed = parse_completion(completion(R"(,"logprobs":true)"), {}, openai::features_all);
    BOOST_TEST(parsed.error().code.value() == "invalid_type");
}

BOOST_AUTO_TEST_CASE(an_echo_may_have_logprobs) {
    const auto parse = [](const char* more) { return parse_completion(completion(more), {}, openai::features_all); };
    BOOST_TEST(parse(R"(,"echo":true)").value().echo);
    BOOST_TEST(!parse(R"(,"echo":false,"logprobs":1)").value().echo);
    const auto both = parse(R"(,"echo":true,"logprobs":1)").value();
    BOOST_TEST(both.echo);
    BOOST_TEST(both.options.logprobs.value() == 1u);
}

BOOST_AUTO_TEST_CASE(a_suffix_is_refused_by_any_engine) {
    BOOST_TEST(parse_completion(completion(R"(,"suffix":"x")"), {}, openai::features_all).error().param.value() ==
               "suffix");
}

BOOST_AUTO_TEST_CASE(tools_are_refused_by_any_engine) {
    BOOST_TEST(parse_chat(chat(R"(,"tools":[{"type":"function"}])"), {}, openai::features_all).error().param.value() ==
               "tools");
}

BOOST_AUTO_TEST_CASE(a_completion_has_16_tokens_unless_told) {
    BOOST_TEST(parse_completion(completion("")).value().options.max_tokens.value() == 16u);
    BOOST_TEST(parse_completion(completion(R"(,"max_tokens":3)")).value().options.max_tokens.value() == 3u);
}

BOOST_AUTO_TEST_CASE(what_is_not_built_is_refused_in_completions_too) {
    for (const auto& [more, param] :
         std::initializer_list<std::pair<const char*, const char*>>{{R"(,"echo":true)", "echo"},
                                                                    {R"(,"suffix":"x")", "suffix"},
                                                                    {R"(,"logprobs":0)", "logprobs"},
                                                                    {R"(,"best_of":2)", "best_of"},
                                                                    {R"(,"n":2)", "n"}}) {
        const auto error = completion_error(completion(more));
        BOOST_TEST(error.param.value() == param, more);
        BOOST_TEST(error.code.value() == "unsupported_parameter", more);
    }
    BOOST_TEST(parse_completion(completion(R"(,"echo":false,"suffix":"","best_of":1,"logprobs":null)")).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
