#include "openai/answer_stream.h"
#include "support/print.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>
#include <vector>

namespace {

namespace openai = exa::openai;
namespace json = boost::json;
using openai::AnswerStream;
using openai::Finish;
using openai::Shape;
using openai::TokenLogprobs;

openai::AnswerHead head(Shape shape, bool stream, std::uint32_t choices = 2) {
    openai::AnswerHead head;
    head.shape = shape;
    head.id = "id";
    head.model = "m";
    head.stream = stream;
    head.choices = choices;
    return head;
}

std::vector<json::value> events(std::string_view bytes) {
    std::vector<json::value> all;
    while (!bytes.empty()) {
        BOOST_TEST_REQUIRE(bytes.starts_with("data: "));
        const std::size_t end = bytes.find("\n\n");
        BOOST_TEST_REQUIRE(end != std::string_view::npos);
        const std::string data(bytes.substr(6, end - 6));
        all.push_back(data == "[DONE]" ? json::value("[DONE]") : json::parse(data));
        bytes.remove_prefix(end + 2);
    }
    return all;
}

json::value choice(const json::value& event) {
    return event.at("choices").at(0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(answer_stream)

BOOST_AUTO_TEST_CASE(choices_are_told_apart_by_their_index) {
    AnswerStream stream(head(Shape::chat, true), {});
    const auto second = choice(events(stream.token(1, 0, "b", false)).at(0));
    BOOST_TEST(second.at("index") == 1);
    BOOST_TEST(second.at("delta") == (json::value{{"role", "assistant"}, {"content", "b"}}));
    const auto first = choice(events(stream.token(0, 0, "a", false)).at(0));
    BOOST_TEST(first.at("index") == 0);
    BOOST_TEST(first.at("delta").at("role") == "assistant");
    BOOST_TEST(choice(events(stream.token(1, 1, "c", false)).at(0)).at("delta") == (json::value{{"content", "c"}}));
}

BOOST_AUTO_TEST_CASE(a_stream_ends_when_all_choices_have) {
    auto with_usage = head(Shape::chat, true);
    with_usage.include_usage = true;
    AnswerStream stream(with_usage, {});
    stream.token(0, 0, "a", false);
    stream.token(1, 0, "b", false);
    stream.token(1, 1, "c", false);
    const auto finished = events(stream.finish(1, Finish::length));
    BOOST_TEST_REQUIRE(finished.size() == 1u);
    BOOST_TEST(choice(finished[0]).at("index") == 1);
    BOOST_TEST(choice(finished[0]).at("finish_reason") == "length");
    BOOST_TEST(stream.finished(1));
    BOOST_TEST(!stream.finished(0));
    BOOST_TEST(!stream.all_finished());
    BOOST_TEST(choice(events(stream.finish(0, Finish::stop)).at(0)).at("finish_reason") == "stop");
    BOOST_TEST(stream.all_finished());
    const auto last = events(stream.end({5, 1}));
    BOOST_TEST_REQUIRE(last.size() == 2u);
    BOOST_TEST(last[0].at("usage").at("completion_tokens") == 3);
    BOOST_TEST(last[0].at("usage").at("total_tokens") == 8);
    BOOST_TEST(last[1] == "[DONE]");
}

BOOST_AUTO_TEST_CASE(each_choice_has_its_own_stop_and_offsets) {
    AnswerStream stream(head(Shape::completion, true), {"END"});
    stream.token(0, 0, "xEND", false);
    BOOST_TEST(stream.stopped(0));
    BOOST_TEST(!stream.stopped(1));
    stream.token(1, 0, "y", false);
    BOOST_TEST(stream.tokens(0) == 1u);
    BOOST_TEST(stream.completion_tokens() == 2u);
    BOOST_TEST(choice(events(stream.finish(0, Finish::length)).at(0)).at("finish_reason") == "stop");
    BOOST_TEST(choice(events(stream.finish(1, Finish::length)).at(0)).at("finish_reason") == "length");
}

BOOST_AUTO_TEST_CASE(an_answer_in_one_piece_has_its_choices_in_order) {
    AnswerStream whole(head(Shape::chat, false, 3), {});
    for (const std::uint32_t i : {2u, 0u, 1u}) {
        BOOST_TEST(whole.token(i, 0, std::string(1, static_cast<char>('a' + i)), false) == "");
        BOOST_TEST(whole.finish(i, i == 1 ? Finish::length : Finish::stop) == "");
    }
    const auto body = json::parse(whole.end({4, 0}));
    BOOST_TEST(body.at("object") == "chat.completion");
    BOOST_TEST_REQUIRE(body.at("choices").as_array().size() == 3u);
    for (std::uint32_t i = 0; i < 3; ++i) {
        const auto& one = body.at("choices").at(i);
        BOOST_TEST(one.at("index") == i);
        BOOST_TEST(std::string(one.at("message").at("content").as_string()) ==
                   std::string(1, static_cast<char>('a' + i)));
        BOOST_TEST(one.at("finish_reason") == (i == 1 ? "length" : "stop"));
        BOOST_TEST(one.at("logprobs").is_null());
    }
    BOOST_TEST(body.at("usage").at("completion_tokens") == 3);
}

BOOST_AUTO_TEST_CASE(logprobs_ride_with_their_token_even_without_text) {
    auto with_logprobs = head(Shape::chat, true, 1);
    with_logprobs.logprobs = true;
    AnswerStream stream(with_logprobs, {"STOP"});
    const TokenLogprobs likely{-0.5F, {{"S", -0.5F}}};
    const auto held = choice(events(stream.token(0, 0, "S", false, &likely)).at(0));
    BOOST_TEST(held.at("delta").at("content") == "");
    BOOST_TEST(held.at("logprobs").at("content").at(0).at("token") == "S");
    const auto shown = choice(events(stream.token(0, 1, "o", false, &likely)).at(0));
    BOOST_TEST(shown.at("delta").at("content") == "So");
    BOOST_TEST(shown.at("logprobs").at("content").as_array().size() == 1u);
    // Neither a stop token nor an end has any.
    BOOST_TEST(stream.token(0, 2, "<eos>", true, &likely) == "");
    BOOST_TEST(choice(events(stream.finish(0, Finish::stop)).at(0)).at("logprobs").is_null());
}

BOOST_AUTO_TEST_CASE(offsets_of_completions_count_code_points_from_the_echo_on) {
    for (const bool stream : {true, false}) {
        auto echoing = head(Shape::completion, stream, 1);
        echoing.logprobs = true;
        echoing.echo = {"\xC3\xA9\xC3\xA9"};
        AnswerStream answer(echoing, {});
        const TokenLogprobs likely{-1.0F, {}};
        std::string bytes = answer.token(0, 0, "\xE2\x82", false, &likely);
        bytes += answer.token(0, 1, "\xAC", false, &likely);
        bytes += answer.token(0, 2, "x", false, &likely);
        bytes += answer.finish(0, Finish::stop);
        std::vector<std::int64_t> offsets;
        std::string text;
        const std::string last = answer.end({});
        for (const json::value& event : stream ? events(bytes) : std::vector<json::value>{json::parse(last)}) {
            const json::value one = choice(event);
            text += std::string(one.at("text").as_string());
            if (const auto* logprobs = one.at("logprobs").if_object())
                for (const json::value& offset : logprobs->at("text_offset").as_array())
                    offsets.push_back(offset.as_int64());
        }
        BOOST_TEST(text == "\xC3\xA9\xC3\xA9\xE2\x82\xACx");
        BOOST_TEST(offsets == (std::vector<std::int64_t>{2, 3, 3}));
    }
}

BOOST_AUTO_TEST_CASE(an_echo_is_there_once_however_little_follows) {
    auto echoing = head(Shape::completion, true, 2);
    echoing.echo = {"one", "two"};
    AnswerStream stream(echoing, {});
    BOOST_TEST(choice(events(stream.token(1, 0, "", false)).at(0)).at("text") == "two");
    BOOST_TEST(stream.token(1, 1, "", false) == "");
    BOOST_TEST(choice(events(stream.finish(0, Finish::stop)).at(0)).at("text") == "one");
}

BOOST_AUTO_TEST_CASE(a_replayed_end_sends_nothing_and_counts) {
    AnswerStream stream(head(Shape::chat, true), {});
    stream.replay(0, 0, "a");
    stream.replay_finish(0, Finish::stop);
    stream.replay(1, 0, "b");
    BOOST_TEST(choice(events(stream.token(1, 1, "c", false)).at(0)).at("delta") == (json::value{{"content", "c"}}));
    stream.finish(1, Finish::length);
    BOOST_TEST(stream.all_finished());
    BOOST_TEST(stream.completion_tokens() == 3u);
}

BOOST_AUTO_TEST_SUITE_END()
