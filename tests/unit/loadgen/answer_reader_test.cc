#include "loadgen/answer_reader.h"

#include <boost/test/unit_test.hpp>

#include "base/rng.h"
#include "support/print.h"

using namespace exa;
using namespace exa::loadgen;

namespace {

const std::string stream_text =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
    ": a comment\n\n"
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"}}]}\r\n\r\n"
    "event: message\n"
    "data:{\"choices\":[{\"index\":0,\"delta\":{\"content\":\" world\"}}]}\n\n"
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3,\"total_tokens\":12}}\n\n"
    "data: [DONE]\n\n";

AnswerReader read(std::string_view body, bool stream) {
    AnswerReader reader(stream, true);
    reader.feed(body);
    reader.finish();
    return reader;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(answer_reader)

BOOST_AUTO_TEST_CASE(a_stream_reads_the_same_however_it_is_cut) {
    Rng rng(1);
    for (int round = 0; round < 200; ++round) {
        AnswerReader reader(true, true);
        std::uint32_t events = 0;
        for (std::string_view rest = stream_text; !rest.empty();) {
            const std::size_t size = 1 + rng.below(round < 100 ? 8 : 300);
            events += reader.feed(rest.substr(0, size));
            rest.remove_prefix(std::min(size, rest.size()));
        }
        reader.finish();
        BOOST_TEST(reader.failure() == Failure::none);
        BOOST_TEST(events == 2u);
        BOOST_TEST(reader.events() == 2u);
        BOOST_TEST(reader.text() == "Hello world");
        BOOST_TEST(reader.prompt_tokens() == 9u);
        BOOST_TEST(reader.output_tokens() == 3u);
    }
}

BOOST_AUTO_TEST_CASE(reasoning_tool_calls_and_plain_completions_are_text_too) {
    AnswerReader reader(true, false);
    BOOST_TEST(reader.feed("data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\n") == 1u);
    BOOST_TEST(reader.feed("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0}]}}]}\n") == 1u);
    BOOST_TEST(reader.feed("data: {\"choices\":[{\"text\":\"x\"}]}\n") == 1u);
    BOOST_TEST(reader.feed("data: {\"choices\":[{\"text\":\"\"}]}\n") == 0u);
    BOOST_TEST(reader.text().empty());
}

BOOST_AUTO_TEST_CASE(a_stream_without_its_end_is_truncated) {
    const auto cut = read(std::string_view(stream_text).substr(0, stream_text.find("data: [DONE]")), true);
    BOOST_TEST(cut.failure() == Failure::truncated);
    BOOST_TEST(read("", true).failure() == Failure::truncated);
}

BOOST_AUTO_TEST_CASE(an_error_in_a_stream_is_told_with_its_message) {
    const auto reader = read("data: {\"error\":{\"message\":\"out of\\nluck\",\"code\":null}}\n\n", true);
    BOOST_TEST(reader.failure() == Failure::error_event);
    BOOST_TEST(reader.message() == "out of luck");
    BOOST_TEST(read("data: {\"error\":null,\"choices\":[]}\n\ndata: [DONE]\n\n", true).failure() == Failure::none);
}

BOOST_AUTO_TEST_CASE(an_answer_in_one_piece_is_read_at_its_end) {
    const auto reader = read(
        R"({"choices":[{"message":{"role":"assistant","content":"Hi"}}],"usage":{"prompt_tokens":4,"completion_tokens":2}})",
        false);
    BOOST_TEST(reader.failure() == Failure::none);
    BOOST_TEST(reader.text() == "Hi");
    BOOST_TEST(reader.events() == 1u);
    BOOST_TEST(reader.output_tokens() == 2u);
}

BOOST_AUTO_TEST_CASE(hostile_bodies_end_in_a_failure) {
    for (const char* body : {"", "[]", "nonsense", "{\"choices\":[]}", "{\"choices\":3}", "{\"choices\":[4]}",
                             "{\"error\":\"no\"}", "{\"choices\":[{\"message\":{\"content\":\"x\"}}]"})
        BOOST_TEST(read(body, false).failure() == Failure::bad_answer);
    for (const char* line : {"data: [1]\n", "data: {\"choices\":\n", "data: \x01\xff\n", "data: 3\n"})
        BOOST_TEST(read(line, true).failure() == Failure::bad_answer);
    const auto negative = read(R"({"choices":[{"message":{"content":"x"}}],"usage":{"completion_tokens":-5}})", false);
    BOOST_TEST(negative.output_tokens() == 0u);
    BOOST_TEST(read("data: " + std::string(100, '[') + "\n", true).failure() == Failure::bad_answer);
}

BOOST_AUTO_TEST_CASE(a_line_or_a_body_without_end_is_given_up_in_bounds) {
    const std::string piece(256 * 1024, 'x');
    AnswerReader stream(true, true);
    AnswerReader whole(false, true);
    for (int i = 0; i < 100; ++i) {
        stream.feed(piece);
        whole.feed(piece);
    }
    BOOST_TEST(stream.failure() == Failure::bad_answer);
    BOOST_TEST(whole.failure() == Failure::bad_answer);
}

BOOST_AUTO_TEST_CASE(error_texts_are_short_and_printable) {
    BOOST_TEST(error_text(R"({"error":{"message":"busy"}})") == "busy");
    BOOST_TEST(error_text(R"({"error":"busy"})") == "busy");
    BOOST_TEST(error_text("<html>\r\nBad Gateway") == "<html>  Bad Gateway");
    BOOST_TEST(error_text(std::string(10'000, 'y')).size() == AnswerReader::message_bytes_max);
    BOOST_TEST(error_text("").empty());
}

BOOST_AUTO_TEST_SUITE_END()
