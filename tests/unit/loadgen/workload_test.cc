#include "loadgen/workload.h"
#include "support/print.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>
#include <set>

using namespace exa;
using namespace exa::loadgen;

namespace {

namespace json = boost::json;

json::object parsed(const Request& request) {
    json::error_code code;
    json::value value = json::parse(request.body, code);
    BOOST_TEST_REQUIRE(!code);
    BOOST_TEST_REQUIRE(value.is_object());
    return std::move(value.get_object());
}

Config chat_config() {
    Config config;
    config.model = "m";
    config.turns = Distribution(3);
    config.system_prompts = 2;
    config.system_tokens = Distribution(5);
    config.prompt_tokens = Distribution(4);
    return config;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(workload)

BOOST_AUTO_TEST_CASE(each_turn_repeats_all_that_was_said_before) {
    const Config config = chat_config();
    Workload workload(config, {}, 1, 0);
    Conversation conversation = workload.begin();
    const json::object first = parsed(workload.ask(conversation));
    BOOST_TEST(first.at("messages").as_array().size() == 2u);
    BOOST_TEST(first.at("model") == "m");
    BOOST_TEST(first.at("stream") == true);
    BOOST_TEST(first.at("max_tokens") == 64);
    workload.answered(conversation, "said \"this\"\n", "");
    const json::object second = parsed(workload.ask(conversation));
    const auto& messages = second.at("messages").as_array();
    BOOST_TEST_REQUIRE(messages.size() == 4u);
    BOOST_TEST(messages[0] == first.at("messages").as_array()[0]);
    BOOST_TEST(messages[1] == first.at("messages").as_array()[1]);
    BOOST_TEST(messages[2].at("role") == "assistant");
    BOOST_TEST(messages[2].at("content") == "said \"this\"\n");
    BOOST_TEST(!conversation.is_over());
    workload.answered(conversation, "", "");
    workload.ask(conversation);
    BOOST_TEST(conversation.is_over());
}

BOOST_AUTO_TEST_CASE(completions_carry_their_history_as_text) {
    Config config = chat_config();
    config.api = Api::completions;
    config.stream = false;
    Workload workload(config, {}, 1, 0);
    Conversation conversation = workload.begin();
    const std::string first(parsed(workload.ask(conversation)).at("prompt").as_string());
    workload.answered(conversation, "an \"answer\"", "");
    const std::string second(parsed(workload.ask(conversation)).at("prompt").as_string());
    BOOST_TEST(second.starts_with(first + "\nan \"answer\"\n"));
}

BOOST_AUTO_TEST_CASE(conversations_share_few_system_prompts_whatever_thread_asks) {
    const Config config = chat_config();
    std::set<std::string> openings;
    for (std::uint64_t stream = 0; stream < 3; ++stream) {
        Workload workload(config, {}, 1, stream);
        for (int i = 0; i < 20; ++i) openings.insert(workload.begin().history);
    }
    BOOST_TEST(openings.size() == 2u);
}

BOOST_AUTO_TEST_CASE(session_ids_are_ours_the_servers_or_none) {
    Config config = chat_config();
    Workload ours(config, {}, 1, 0);
    Conversation a = ours.begin();
    const std::string own = ours.ask(a).session;
    BOOST_TEST(!own.empty());
    ours.answered(a, "x", "token");
    BOOST_TEST(ours.ask(a).session == own);
    Conversation b = ours.begin();
    BOOST_TEST(ours.ask(b).session != own);

    config.session_ids = SessionIds::server;
    Workload theirs(config, {}, 1, 0);
    Conversation c = theirs.begin();
    BOOST_TEST(theirs.ask(c).session.empty());
    theirs.answered(c, "x", "token");
    BOOST_TEST(theirs.ask(c).session == "token");
    theirs.answered(c, "x", "");
    BOOST_TEST(c.session == "token");

    config.session_ids = SessionIds::none;
    Workload none(config, {}, 1, 0);
    Conversation d = none.begin();
    none.ask(d);
    none.answered(d, "x", "token");
    BOOST_TEST(none.ask(d).session.empty());
}

BOOST_AUTO_TEST_CASE(a_conversation_stays_at_its_target_unless_it_moves) {
    Config config = chat_config();
    config.turns = Distribution(10);
    Workload stays(config, {}, 3, 0);
    Conversation conversation = stays.begin();
    std::set<std::uint32_t> seen;
    while (!conversation.is_over()) {
        seen.insert(stays.ask(conversation).target);
        stays.answered(conversation, "x", "");
    }
    BOOST_TEST(seen.size() == 1u);
    std::set<std::uint32_t> starts;
    for (int i = 0; i < 3; ++i) starts.insert(stays.begin().target);
    BOOST_TEST(starts.size() == 3u);

    config.moves = true;
    Workload moves(config, {}, 3, 0);
    Conversation moving = moves.begin();
    std::vector<std::uint32_t> order;
    while (!moving.is_over()) order.push_back(moves.ask(moving).target);
    for (std::size_t i = 1; i < order.size(); ++i) BOOST_TEST(order[i] == (order[i - 1] + 1) % 3);
}

BOOST_AUTO_TEST_CASE(prompts_of_a_file_go_round_with_their_own_turns_and_lengths) {
    Config config;
    const std::vector<Prompt> prompts = {{"", {"\"a\"", "\"b\""}, 9},
                                         {R"({"role":"system","content":"s"},)", {"\"c\""}, 0}};
    Workload workload(config, prompts, 1, 0);
    std::set<std::string> texts;
    for (int i = 0; i < 2; ++i) {
        Conversation conversation = workload.begin();
        while (!conversation.is_over()) {
            const json::object body = parsed(workload.ask(conversation));
            texts.emplace(body.at("messages").as_array().back().at("content").as_string());
            BOOST_TEST(body.at("max_tokens") == (conversation.prompt == &prompts[0] ? 9 : 64));
            workload.answered(conversation, "x", "");
        }
    }
    BOOST_TEST(texts == (std::set<std::string>{"a", "b", "c"}));
}

BOOST_AUTO_TEST_CASE(a_trace_prescribes_the_lengths) {
    Config config;
    config.extra_fields = R"("temperature":0)";
    config.ignores_eos = true;
    Workload workload(config, {}, 1, 0);
    Conversation conversation = workload.begin();
    const json::object body = parsed(workload.ask(conversation, Lengths{12, 34}));
    const std::string content(body.at("messages").as_array().front().at("content").as_string());
    BOOST_TEST(std::ranges::count(content, ' ') == 11);
    BOOST_TEST(body.at("max_tokens") == 34);
    BOOST_TEST(body.at("temperature") == 0);
    BOOST_TEST(body.at("ignore_eos") == true);
}

BOOST_AUTO_TEST_CASE(equal_seeds_say_the_same_and_other_threads_something_else) {
    const Config config = chat_config();
    const auto first_body = [&](std::uint64_t stream) {
        Workload workload(config, {}, 1, stream);
        Conversation conversation = workload.begin();
        return workload.ask(conversation).body;
    };
    BOOST_TEST(first_body(0) == first_body(0));
    BOOST_TEST(first_body(0) != first_body(1));
}

BOOST_AUTO_TEST_SUITE_END()
