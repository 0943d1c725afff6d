#include "support/print.h"
#include "unit/openai/completion_stream.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>
#include <vector>

namespace {

namespace openai = exa::openai;
namespace json = boost::json;
using openai::CompletionStream;
using openai::Finish;
using openai::Shape;

openai::AnswerHead head(Shape shape, bool stream, bool include_usage = false) {
    openai::AnswerHead head;
    head.shape = shape;
    head.id = shape == Shape::chat ? "chatcmpl-1" : "cmpl-1";
    head.created = 1700000000;
    head.model = "small \"m\"";
    head.stream = stream;
    head.include_usage = include_usage;
    return head;
}

// The data of every event; fails unless `bytes` are whole events and nothing else.
std::vector<std::string> events(std::string_view bytes) {
    std::vector<std::string> all;
    while (!bytes.empty()) {
        BOOST_TEST_REQUIRE(bytes.starts_with("data: "));
        const std::size_t end = bytes.find("\n\n");
        BOOST_TEST_REQUIRE(end != std::string_view::npos);
        all.emplace_back(bytes.substr(6, end - 6));
        BOOST_TEST(all.back().find('\n') == std::string::npos);
        bytes.remove_prefix(end + 2);
    }
    return all;
}

json::value choice(const std::string& event) {
    return json::parse(event).at("choices").at(0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(completion)

BOOST_AUTO_TEST_CASE(the_role_rides_with_the_first_token_only) {
    CompletionStream stream(head(Shape::chat, true), {});
    const auto first = events(stream.token(0, "He", false));
    BOOST_TEST_REQUIRE(first.size() == 1u);
    BOOST_TEST(choice(first[0]).at("delta") == (json::value{{"role", "assistant"}, {"content", "He"}}));
    BOOST_TEST(choice(first[0]).at("finish_reason").is_null());
    const auto second = events(stream.token(1, "y", false));
    BOOST_TEST(choice(second.at(0)).at("delta") == (json::value{{"content", "y"}}));
}

BOOST_AUTO_TEST_CASE(every_chunk_carries_the_same_head) {
    auto answer = head(Shape::chat, true, true);
    answer.fingerprint = "fp";
    CompletionStream stream(answer, {});
    const std::string bytes =
        stream.token(0, "a", false) + stream.token(1, "b", false) + stream.finish(Finish::length, {3, 0});
    const auto all = events(bytes);
    BOOST_TEST_REQUIRE(all.size() == 5u);
    for (std::size_t i = 0; i < 4; ++i) {
        const auto chunk = json::parse(all[i]);
        BOOST_TEST(chunk.at("id") == "chatcmpl-1");
        BOOST_TEST(chunk.at("object") == "chat.completion.chunk");
        BOOST_TEST(chunk.at("created") == 1700000000);
        BOOST_TEST(chunk.at("model") == "small \"m\"");
        BOOST_TEST(chunk.at("system_fingerprint") == "fp");
    }
    BOOST_TEST(all[4] == "[DONE]");
}

BOOST_AUTO_TEST_CASE(a_stream_ends_with_its_reason_usage_and_done) {
    CompletionStream stream(head(Shape::chat, true, true), {});
    const auto first = events(stream.token(0, "a", false));
    BOOST_TEST(json::parse(first[0]).at("usage").is_null());
    stream.token(1, "<eos>", true);
    const auto last = events(stream.finish(Finish::stop, {10, 4}));
    BOOST_TEST_REQUIRE(last.size() == 3u);
    BOOST_TEST(choice(last[0]).at("delta") == json::object{});
    BOOST_TEST(choice(last[0]).at("finish_reason") == "stop");
    const auto usage = json::parse(last[1]);
    BOOST_TEST(usage.at("choices").as_array().empty());
    BOOST_TEST(usage.at("usage") == (json::value{{"prompt_tokens", 10},
                                                 {"completion_tokens", 2},
                                                 {"total_tokens", 12},
                                                 {"prompt_tokens_details", {{"cached_tokens", 4}}}}));
    BOOST_TEST(last[2] == "[DONE]");
}

BOOST_AUTO_TEST_CASE(usage_is_sent_only_when_asked_for) {
    CompletionStream stream(head(Shape::chat, true), {});
    const std::string bytes = stream.token(0, "a", false) + stream.finish(Finish::length, {10, 4});
    BOOST_TEST(bytes.find("usage") == std::string::npos);
    BOOST_TEST(choice(events(bytes).at(1)).at("finish_reason") == "length");
}

BOOST_AUTO_TEST_CASE(a_token_with_nothing_to_show_sends_nothing) {
    CompletionStream stream(head(Shape::chat, true), {"STOP"});
    stream.token(0, "a", false);
    BOOST_TEST(stream.token(1, "\xE2\x82", false) == "");
    BOOST_TEST(choice(events(stream.token(2, "\xAC", false)).at(0)).at("delta").at("content") == "\xE2\x82\xAC");
    BOOST_TEST(stream.token(3, "ST", false) == "");
    BOOST_TEST(stream.token(4, "<eos>", true) == "");
    const auto last = events(stream.finish(Finish::stop, {}));
    BOOST_TEST(choice(last.at(0)).at("delta").at("content") == "ST");
}

BOOST_AUTO_TEST_CASE(a_stop_string_makes_the_reason_stop) {
    CompletionStream stream(head(Shape::chat, true), {"END"});
    stream.token(0, "a", false);
    const auto cut = events(stream.token(1, "bEND", false));
    BOOST_TEST(choice(cut.at(0)).at("delta").at("content") == "b");
    BOOST_TEST(stream.stopped());
    const auto last = events(stream.finish(Finish::length, {}));
    BOOST_TEST(choice(last.at(0)).at("finish_reason") == "stop");
}

BOOST_AUTO_TEST_CASE(an_answer_of_nothing_still_has_a_role) {
    CompletionStream stream(head(Shape::chat, true), {});
    const auto first = events(stream.token(0, "<eos>", true));
    BOOST_TEST(choice(first.at(0)).at("delta") == (json::value{{"role", "assistant"}, {"content", ""}}));
    BOOST_TEST(events(stream.finish(Finish::stop, {})).size() == 2u);
}

BOOST_AUTO_TEST_CASE(completions_have_text_instead_of_a_delta) {
    CompletionStream stream(head(Shape::completion, true), {});
    const auto first = events(stream.token(0, "a\n", false));
    BOOST_TEST(json::parse(first.at(0)).at("object") == "text_completion");
    BOOST_TEST(choice(first[0]).at("text") == "a\n");
    BOOST_TEST(!choice(first[0]).as_object().contains("delta"));
    const auto last = events(stream.finish(Finish::stop, {}));
    BOOST_TEST(choice(last.at(0)).at("text") == "");
}

BOOST_AUTO_TEST_CASE(a_chat_answer_in_one_piece) {
    CompletionStream stream(head(Shape::chat, false), {});
    BOOST_TEST(stream.token(0, "caf\xC3", false) == "");
    BOOST_TEST(stream.token(1, "\xA9 \"", false) == "");
    BOOST_TEST(stream.token(2, "<eos>", true) == "");
    const auto body = json::parse(stream.body(Finish::stop, {5, 0}));
    BOOST_TEST(body.at("object") == "chat.completion");
    BOOST_TEST(body.at("id") == "chatcmpl-1");
    const auto& only = body.at("choices").at(0);
    BOOST_TEST(only.at("message").at("role") == "assistant");
    BOOST_TEST(only.at("message").at("content") == "caf\xC3\xA9 \"");
    BOOST_TEST(only.at("finish_reason") == "stop");
    BOOST_TEST(body.at("usage").at("completion_tokens") == 3);
    BOOST_TEST(body.at("usage").at("total_tokens") == 8);
}

BOOST_AUTO_TEST_CASE(a_completion_in_one_piece) {
    CompletionStream stream(head(Shape::completion, false), {"."});
    stream.token(0, "one. two", false);
    const auto body = json::parse(stream.body(Finish::length, {}));
    BOOST_TEST(body.at("object") == "text_completion");
    BOOST_TEST(body.at("choices").at(0).at("text") == "one");
    BOOST_TEST(body.at("choices").at(0).at("finish_reason") == "stop");
}

BOOST_AUTO_TEST_CASE(a_replayed_stop_string_ends_the_answer_without_new_tokens) {
    CompletionStream stream(head(Shape::chat, true), {"END"});
    stream.replay(0, "aEND");
    BOOST_TEST(stream.stopped());
    BOOST_TEST(choice(events(stream.finish(Finish::length, {})).at(0)).at("finish_reason") == "stop");
}

BOOST_AUTO_TEST_CASE(no_stop_string_is_looked_for_before_the_least_length) {
    const std::pair<const char*, bool> tokens[] = {{"a.", false}, {".", false}, {"b", false}, {".", true}};
    for (const bool replays : {false, true}) {
        openai::AnswerHead with = head(Shape::completion, false);
        with.min_tokens = 2;
        CompletionStream stream(with, {"."});
        for (std::uint32_t i = 0; i < 4; ++i) {
            if (replays)
                stream.replay(i, tokens[i].first);
            else
                stream.token(i, tokens[i].first, false);
            BOOST_TEST(stream.stopped() == tokens[i].second, i);
        }
        BOOST_TEST(json::parse(stream.body(Finish::length, {})).at("choices").at(0).at("text") == "a..b");
    }
}

// BOS, "Hi", " you" echoed, then "!".
BOOST_AUTO_TEST_CASE(an_echo_has_its_own_logprobs_before_the_answers) {
    const std::vector<openai::EchoedToken> echoed = {{"<s>", false, std::nullopt},
                                                     {"Hi", true, openai::TokenLogprobs{-1.0F, {}}},
                                                     {" you", true, openai::TokenLogprobs{-2.0F, {}}}};
    const json::value expected = {{"tokens", {"<s>", "Hi", " you", "!"}},
                                  {"token_logprobs", {nullptr, -1, -2, -0.5}},
                                  {"top_logprobs", {nullptr, json::object(), json::object(), json::object()}},
                                  {"text_offset", {0, 0, 2, 6}}};
    for (const bool streams : {false, true}) {
        openai::AnswerHead with = head(Shape::completion, streams);
        with.logprobs = true;
        with.echo = {"Hi you"};
        openai::AnswerStream stream(with, {});
        stream.echo_logprobs(0, echoed);
        const openai::TokenLogprobs logprobs{-0.5F, {}};
        const std::string first = stream.token(0, 0, "!", false, &logprobs);
        const std::string second = stream.token(0, 1, "?", false, &logprobs);
        const std::string last = stream.finish(0, Finish::length) + stream.end({});
        if (streams) {
            BOOST_TEST(choice(events(first).at(0)).at("text") == "Hi you!");
            BOOST_TEST(choice(events(first).at(0)).at("logprobs") == expected);
            BOOST_TEST(choice(events(second).at(0)).at("logprobs").at("tokens") == json::value{"?"});
        } else {
            const json::value only = json::parse(last).at("choices").at(0);
            BOOST_TEST(only.at("logprobs").at("tokens") == (json::value{"<s>", "Hi", " you", "!", "?"}));
            BOOST_TEST(only.at("logprobs").at("text_offset") == (json::value{0, 0, 2, 6, 7}));
        }
    }
}

// A stop token at once: the echo and its logprobs are all there is.
BOOST_AUTO_TEST_CASE(an_echo_has_its_logprobs_even_if_no_text_follows) {
    openai::AnswerHead with = head(Shape::completion, true);
    with.logprobs = true;
    with.echo = {"Hi"};
    openai::AnswerStream stream(with, {});
    stream.echo_logprobs(0, std::vector<openai::EchoedToken>{{"Hi"}});
    const std::string first = stream.token(0, 0, "", true, nullptr);
    BOOST_TEST(choice(events(first).at(0)).at("text") == "Hi");
    BOOST_TEST(choice(events(first).at(0)).at("logprobs").at("tokens") == json::value{"Hi"});
}

BOOST_AUTO_TEST_SUITE_END()
