#include "openai/responses_stream.h"
#include "support/print.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>
#include <vector>

namespace {

namespace openai = exa::openai;
namespace json = boost::json;
using openai::Finish;
using openai::ResponsesStream;

openai::ResponseHead head(bool stream) {
    openai::ResponseHead head;
    head.id = "resp_12";
    head.created = 1700000000;
    head.model = "m";
    head.stream = stream;
    head.settings.instructions = "be \"brief\"";
    head.settings.max_output_tokens = 9;
    head.settings.metadata = R"({"a":"b"})";
    return head;
}

// The data of every event; fails unless each is named as its type and numbered in order from `first`.
std::vector<json::value> events(std::string_view bytes, std::int64_t first) {
    std::vector<json::value> all;
    while (!bytes.empty()) {
        const std::size_t line = bytes.find('\n');
        const std::size_t end = bytes.find("\n\n");
        BOOST_TEST_REQUIRE(bytes.starts_with("event: "));
        BOOST_TEST_REQUIRE(end != std::string_view::npos);
        BOOST_TEST_REQUIRE(bytes.substr(line + 1).starts_with("data: "));
        all.push_back(json::parse(std::string(bytes.substr(line + 7, end - line - 7))));
        BOOST_TEST(std::string(all.back().at("type").as_string()) == bytes.substr(7, line - 7));
        BOOST_TEST(all.back().at("sequence_number").as_int64() == first + static_cast<std::int64_t>(all.size()) - 1);
        bytes.remove_prefix(end + 2);
    }
    return all;
}

std::vector<std::string> types(const std::vector<json::value>& events) {
    std::vector<std::string> all;
    for (const json::value& event : events) all.emplace_back(event.at("type").as_string());
    return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(responses_stream)

BOOST_AUTO_TEST_CASE(events_come_in_the_order_clients_wait_for) {
    ResponsesStream stream(head(true));
    std::string bytes = stream.token(0, "He", false) + stream.token(1, "y", false) + stream.token(2, "<eos>", true);
    bytes += stream.end(Finish::stop, {10, 4});
    const auto all = events(bytes, 0);
    BOOST_TEST(types(all) == (std::vector<std::string>{"response.created", "response.in_progress",
                                                       "response.output_item.added", "response.content_part.added",
                                                       "response.output_text.delta", "response.output_text.delta",
                                                       "response.output_text.done", "response.content_part.done",
                                                       "response.output_item.done", "response.completed"}));
    const auto& created = all[0].at("response");
    BOOST_TEST(created.at("id") == "resp_12");
    BOOST_TEST(created.at("status") == "in_progress");
    BOOST_TEST(created.at("output").as_array().empty());
    BOOST_TEST(created.at("usage").is_null());
    BOOST_TEST(all[2].at("item").at("status") == "in_progress");
    BOOST_TEST(all[4].at("delta") == "He");
    for (std::size_t i = 3; i < 8; ++i) {
        BOOST_TEST(all[i].at("item_id") == "msg_12");
        BOOST_TEST(all[i].at("content_index") == 0);
    }
    BOOST_TEST(all[6].at("text") == "Hey");
    BOOST_TEST(all[7].at("part").at("text") == "Hey");
    const auto& completed = all[9].at("response");
    BOOST_TEST(completed.at("status") == "completed");
    BOOST_TEST(completed.at("output").at(0) == all[8].at("item"));
    BOOST_TEST(completed.at("output").at(0).at("content").at(0).at("text") == "Hey");
    BOOST_TEST(completed.at("usage") ==
               (json::value{{"input_tokens", 10},
                            {"input_tokens_details", {{"cached_tokens", 4}, {"cache_write_tokens", 0}}},
                            {"output_tokens", 3},
                            {"output_tokens_details", {{"reasoning_tokens", 0}}},
                            {"total_tokens", 13}}));
}

BOOST_AUTO_TEST_CASE(an_answer_cut_by_its_length_is_incomplete) {
    ResponsesStream stream(head(true));
    const std::string first = stream.token(0, "a\xE2\x82", false);
    const auto last = events(stream.end(Finish::length, {}), 5);
    BOOST_TEST(events(first, 0).size() == 5u);
    BOOST_TEST(types(last) == (std::vector<std::string>{"response.output_text.delta", "response.output_text.done",
                                                        "response.content_part.done", "response.output_item.done",
                                                        "response.incomplete"}));
    BOOST_TEST(last[0].at("delta") == "\xEF\xBF\xBD");
    BOOST_TEST(last[4].at("response").at("incomplete_details").at("reason") == "max_output_tokens");
    BOOST_TEST(last[4].at("response").at("output").at(0).at("status") == "incomplete");
}

BOOST_AUTO_TEST_CASE(an_answer_of_nothing_has_all_its_events) {
    ResponsesStream stream(head(true));
    BOOST_TEST(events(stream.end(Finish::stop, {}), 0).size() == 8u);
    ResponsesStream stopped(head(true));
    BOOST_TEST(events(stopped.token(0, "<eos>", true), 0).size() == 4u);
    BOOST_TEST(events(stopped.end(Finish::stop, {}), 4).size() == 4u);
}

BOOST_AUTO_TEST_CASE(a_response_in_one_piece_tells_its_settings_back) {
    ResponsesStream whole(head(false));
    BOOST_TEST(whole.token(0, "He", false) == "");
    BOOST_TEST(whole.token(1, "y", false) == "");
    const auto response = json::parse(whole.end(Finish::stop, {1, 0}));
    BOOST_TEST(response.at("object") == "response");
    BOOST_TEST(response.at("created_at") == 1700000000);
    BOOST_TEST(response.at("output").at(0).at("content").at(0).at("text") == "Hey");
    BOOST_TEST(response.at("instructions") == "be \"brief\"");
    BOOST_TEST(response.at("max_output_tokens") == 9);
    BOOST_TEST(response.at("metadata") == (json::value{{"a", "b"}}));
    BOOST_TEST(response.at("temperature") == 1);
    BOOST_TEST(response.at("user").is_null());
    BOOST_TEST(response.at("error").is_null());
    BOOST_TEST(response.at("usage").at("output_tokens") == 2);
}

BOOST_AUTO_TEST_CASE(logprobs_are_in_deltas_of_a_stream_and_in_the_text_of_a_whole) {
    const openai::TokenLogprobs likely{-0.5F, {{"x", -0.5F}}};
    auto with_logprobs = head(true);
    with_logprobs.logprobs = true;
    ResponsesStream stream(with_logprobs);
    const auto first = events(stream.token(0, "\xE2\x82", false, &likely), 0);
    BOOST_TEST_REQUIRE(first.size() == 5u);
    BOOST_TEST(first[4].at("delta") == "");
    BOOST_TEST(first[4].at("logprobs").at(0).at("logprob") == -0.5);
    // An event all the same, for the numbers of those behind it.
    BOOST_TEST(events(stream.token(1, "\xAC", false), 5).at(0).at("logprobs").as_array().empty());
    with_logprobs.stream = false;
    ResponsesStream whole(with_logprobs);
    whole.token(0, "a", false, &likely);
    whole.token(1, "b", false, &likely);
    const auto response = json::parse(whole.end(Finish::stop, {}));
    BOOST_TEST(response.at("output").at(0).at("content").at(0).at("logprobs").as_array().size() == 2u);
}

BOOST_AUTO_TEST_CASE(an_error_shows_in_both_shapes_clients_look_for) {
    const auto all = events(openai::response_error_event(openai::upstream_failed("gone"), 7), 7);
    BOOST_TEST_REQUIRE(all.size() == 1u);
    BOOST_TEST(all[0].at("type") == "error");
    BOOST_TEST(all[0].at("code") == "upstream_failed");
    BOOST_TEST(all[0].at("param").is_null());
    BOOST_TEST(all[0].at("error").at("message") == all[0].at("message"));
    BOOST_TEST(all[0].at("error").at("type") == "server_error");
}

BOOST_AUTO_TEST_SUITE_END()
