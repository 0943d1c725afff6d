// Whatever the tokens, their split and the moment of a failover, the client reads one and the same text.
#include <rapidcheck.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "openai/answer_stream.h"
#include "openai/embeddings.h"
#include "openai/request.h"
#include "openai/responses_stream.h"
#include "openai/scan.h"
#include "openai/text.h"
#include "openai/tokenize.h"
#include "openai/utf8.h"
#include "unit/openai/completion_stream.h"

namespace {

namespace openai = exa::openai;

// Few letters, so that stop strings occur and overlap; code points of 2 to 4 bytes; bytes that fit nowhere.
rc::Gen<std::string> piece() {
    return rc::gen::element<std::string>("a", "b", "ab", "\n", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xF0",
                                         "\x9F", "\xE2\x82", "\xFF", "\xEF\xBF\xBD");
}

rc::Gen<std::string> joined(rc::Gen<std::vector<std::string>> pieces) {
    return rc::gen::map(std::move(pieces), [](const std::vector<std::string>& parts) {
        std::string text;
        for (const std::string& part : parts) text += part;
        return text;
    });
}

rc::Gen<std::string> bytes() {
    return joined(rc::gen::container<std::vector<std::string>>(piece()));
}

rc::Gen<std::vector<std::string>> stops() {
    const auto letter = rc::gen::element<std::string>("a", "b", "\xC3\xA9", "\xEF\xBF\xBD");
    const auto stop = rc::gen::suchThat(joined(rc::gen::container<std::vector<std::string>>(letter)),
                                        [](const std::string& text) { return !text.empty() && text.size() < 12; });
    return rc::gen::resize(4, rc::gen::container<std::vector<std::string>>(stop));
}

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> tokens;
    std::size_t at = 0;
    while (at < text.size()) {
        const auto length = *rc::gen::inRange<std::size_t>(1, std::min<std::size_t>(6, text.size() - at + 1));
        tokens.push_back(text.substr(at, length));
        at += length;
    }
    return tokens;
}

// The definition, the slow way: the shortest start of the valid text that ends with a stop string, less that string.
std::string cut(const std::string& text, const std::vector<std::string>& stops) {
    for (std::size_t end = 0; end <= text.size(); ++end) {
        std::size_t longest = 0;
        for (const std::string& stop : stops)
            if (text.substr(0, end).ends_with(stop)) longest = std::max(longest, stop.size());
        if (longest > 0) return text.substr(0, end - longest);
    }
    return text;
}

// The text a client gathers from events.
std::string gathered(std::string_view events) {
    std::string text;
    while (!events.empty()) {
        const std::size_t end = events.find("\n\n");
        RC_ASSERT(events.starts_with("data: ") && end != std::string_view::npos);
        const std::string_view data = events.substr(6, end - 6);
        events.remove_prefix(end + 2);
        if (data == "[DONE]") continue;
        const auto chunk = boost::json::parse({data.data(), data.size()});
        const auto* content = chunk.at("choices").at(0).at("delta").as_object().if_contains("content");
        if (content != nullptr) {
            const std::string delta(content->as_string());
            RC_ASSERT(openai::valid_utf8(delta) == delta);
            text += delta;
        }
    }
    return text;
}

openai::AnswerHead head(bool stream) {
    openai::AnswerHead head;
    head.id = "chatcmpl-1";
    head.model = "m";
    head.stream = stream;
    return head;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(answer)

BOOST_AUTO_TEST_CASE(deltas_are_whole_code_points_and_add_up_to_the_cut_text) {
    BOOST_TEST(rc::check("deltas add up", [] {
        const std::string text = *bytes();
        const auto stop_strings = *stops();
        openai::CompletionStream stream(head(true), stop_strings);
        std::string events;
        std::uint32_t offset = 0;
        for (const std::string& token : split(text)) {
            if (stream.stopped()) break;
            events += stream.token(offset++, token, false);
        }
        const bool stopped_early = stream.stopped();
        events += stream.finish(openai::Finish::length, {});
        const std::string valid = openai::valid_utf8(text);
        RC_ASSERT(gathered(events) == cut(valid, stop_strings));
        if (stopped_early) RC_ASSERT(cut(valid, stop_strings) != valid);
    }));
}

BOOST_AUTO_TEST_CASE(an_answer_in_one_piece_has_the_text_of_the_stream) {
    BOOST_TEST(rc::check("body equals stream", [] {
        const std::string text = *bytes();
        const auto stop_strings = *stops();
        openai::CompletionStream whole(head(false), stop_strings);
        std::uint32_t offset = 0;
        for (const std::string& token : split(text)) whole.token(offset++, token, false);
        const auto body = boost::json::parse(whole.body(openai::Finish::length, {}));
        RC_ASSERT(std::string(body.at("choices").at(0).at("message").at("content").as_string()) ==
                  cut(openai::valid_utf8(text), stop_strings));
    }));
}

BOOST_AUTO_TEST_CASE(a_resumed_stream_sends_the_very_bytes_the_first_would_have) {
    BOOST_TEST(rc::check("no seam", [] {
        const std::string text = *bytes();
        const auto stop_strings = *stops();
        const auto tokens = split(text);
        for (std::size_t cut = 0; cut <= tokens.size(); ++cut) {
            openai::CompletionStream first(head(true), stop_strings);
            openai::CompletionStream second(head(true), stop_strings);
            for (std::uint32_t i = 0; i < tokens.size(); ++i) {
                const std::string sent = first.token(i, tokens[i], false);
                if (i < cut)
                    second.replay(i, tokens[i]);
                else
                    RC_ASSERT(second.token(i, tokens[i], false) == sent);
                RC_ASSERT(second.stopped() == first.stopped());
            }
            RC_ASSERT(second.finish(openai::Finish::length, {1, 0}) == first.finish(openai::Finish::length, {1, 0}));
        }
    }));
}

// Choices move between targets each at its own place, and one of them may have ended before.
BOOST_AUTO_TEST_CASE(resumed_choices_send_the_very_bytes_the_first_would_have) {
    BOOST_TEST(rc::check("no seam between choices", [] {
        openai::AnswerHead answer = head(true);
        answer.shape = *rc::gen::element(openai::Shape::chat, openai::Shape::completion);
        answer.choices = *rc::gen::inRange<std::uint32_t>(1, 4);
        answer.logprobs = *rc::gen::arbitrary<bool>();
        answer.include_usage = *rc::gen::arbitrary<bool>();
        if (*rc::gen::arbitrary<bool>())
            answer.echo.assign(answer.choices,
                               "\xC3\xA9"
                               "cho");
        const auto stop_strings = *stops();
        openai::AnswerStream first(answer, stop_strings);
        openai::AnswerStream second(answer, stop_strings);
        for (std::uint32_t choice = 0; choice < answer.choices; ++choice) {
            const auto tokens = split(*bytes());
            const auto moved_at = *rc::gen::inRange<std::size_t>(0, tokens.size() + 2);
            for (std::uint32_t i = 0; i < tokens.size(); ++i) {
                const openai::TokenLogprobs logprobs{-0.5F * static_cast<float>(i), {{tokens[i], -0.25F}}};
                const std::string sent = first.token(choice, i, tokens[i], false, &logprobs);
                if (i < moved_at)
                    second.replay(choice, i, tokens[i]);
                else
                    RC_ASSERT(second.token(choice, i, tokens[i], false, &logprobs) == sent);
            }
            const std::string end = first.finish(choice, openai::Finish::length);
            if (moved_at > tokens.size())
                second.replay_finish(choice, openai::Finish::length);
            else
                RC_ASSERT(second.finish(choice, openai::Finish::length) == end);
        }
        RC_ASSERT(second.end({1, 0}) == first.end({1, 0}));
    }));
}

BOOST_AUTO_TEST_CASE(a_resumed_response_goes_on_with_the_very_next_event_wherever_it_was_cut) {
    BOOST_TEST(rc::check("no seam in responses", [] {
        openai::ResponseHead response;
        response.id = "resp_1";
        response.model = "m";
        response.stream = true;
        response.logprobs = *rc::gen::arbitrary<bool>();
        const auto tokens = split(*bytes());
        const auto send = [&](openai::ResponsesStream& stream, std::uint32_t offset) {
            const openai::TokenLogprobs logprobs{-0.5F * static_cast<float>(offset), {{tokens[offset], -0.25F}}};
            return stream.token(offset, tokens[offset], false, &logprobs);
        };
        openai::ResponsesStream first(response);
        std::vector<std::string> sent;
        for (std::uint32_t i = 0; i < tokens.size(); ++i) sent.push_back(send(first, i));
        sent.push_back(first.end(openai::Finish::stop, {1, 0}));
        for (std::uint32_t cut = 0; cut <= tokens.size(); ++cut) {
            openai::ResponsesStream second(response);
            for (std::uint32_t i = 0; i < cut; ++i) second.replay(i, tokens[i]);
            for (std::uint32_t i = cut; i < tokens.size(); ++i) RC_ASSERT(send(second, i) == sent[i]);
            RC_ASSERT(second.end(openai::Finish::stop, {1, 0}) == sent.back());
        }
    }));
}

// Only logprobs of replayed tokens are gone; everything else comes back from their bytes.
BOOST_AUTO_TEST_CASE(a_resumed_answer_in_one_piece_is_whole) {
    BOOST_TEST(rc::check("whole after a move", [] {
        openai::AnswerHead answer = head(false);
        answer.choices = 2;
        const auto stop_strings = *stops();
        openai::ResponseHead response;
        response.id = "resp_1";
        const auto tokens = split(*bytes());
        const auto render = [&](std::uint32_t cut) {
            openai::AnswerStream stream(answer, stop_strings);
            openai::ResponsesStream other(response);
            for (std::uint32_t i = 0; i < tokens.size(); ++i) {
                for (const std::uint32_t choice : {1u, 0u}) {
                    if (i < cut)
                        stream.replay(choice, i, tokens[i]);
                    else
                        RC_ASSERT(stream.token(choice, i, tokens[i], false).empty());
                }
                if (i < cut)
                    other.replay(i, tokens[i]);
                else
                    RC_ASSERT(other.token(i, tokens[i], false).empty());
            }
            stream.replay_finish(1, openai::Finish::length);
            RC_ASSERT(stream.finish(0, openai::Finish::stop).empty());
            return stream.end({3, 0}) + other.end(openai::Finish::stop, {3, 0});
        };
        const std::string undisturbed = render(0);
        for (std::uint32_t cut = 1; cut <= tokens.size(); ++cut) RC_ASSERT(render(cut) == undisturbed);
    }));
}

BOOST_AUTO_TEST_CASE(no_body_however_mangled_does_more_than_fail) {
    const std::string valid =
        R"({"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"stop":["a"],"seed":1,)"
        R"("n":2,"logit_bias":{"5":1},"prompt":["a","b"],"logprobs":1,"input":[{"role":"user","content":"hi"}],)"
        R"("metadata":{"a":"b"},"include":["x"],"encoding_format":"base64"})";
    BOOST_TEST(rc::check("mangled bodies", [&] {
        std::string body = valid;
        const auto edits = *rc::gen::inRange(1, 6);
        for (int i = 0; i < edits; ++i)
            body[*rc::gen::inRange<std::size_t>(0, body.size())] = *rc::gen::arbitrary<char>();
        body.resize(*rc::gen::inRange<std::size_t>(0, body.size() + 1));
        const auto chat = openai::parse_chat(body, {}, openai::features_all);
        if (!chat) RC_ASSERT(chat.error().status == 400);
        const auto completion = openai::parse_completion(body, {}, openai::features_all);
        if (!completion) RC_ASSERT(completion.error().status == 400);
        const auto response = openai::parse_responses(body, {}, openai::features_all);
        if (!response) RC_ASSERT(response.error().status == 400);
        const auto embeddings = openai::parse_embeddings(body);
        if (!embeddings) RC_ASSERT(embeddings.error().status == 400);
        const auto tokenize = openai::parse_tokenize(body);
        if (!tokenize) RC_ASSERT(tokenize.error().status == 400);
        const auto scanned = openai::scan(body);
        // The entry never refuses what the target would take.
        if (chat || completion || response || embeddings) RC_ASSERT(scanned.has_value());
        if (!scanned) {
            const auto error = boost::json::parse(scanned.error().body());
            RC_ASSERT(error.at("error").at("message").is_string());
        }
    }));
}

BOOST_AUTO_TEST_SUITE_END()
