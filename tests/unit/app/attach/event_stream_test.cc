#include "app/attach/event_stream.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(app_attach_event_stream)

using exa::app::attach::EventStream;

namespace {

// The same in whatever pieces it comes.
bool has_ended(std::string_view text) {
    EventStream whole;
    whole.feed(text);
    for (const std::size_t piece : {1U, 2U, 7U}) {
        EventStream stream;
        for (std::size_t at = 0; at < text.size(); at += piece) stream.feed(text.substr(at, piece));
        BOOST_TEST(stream.has_ended() == whole.has_ended(), text << " in pieces of " << piece);
    }
    return whole.has_ended();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_stream_ends_with_the_event_that_says_so) {
    BOOST_TEST(has_ended("data: {\"a\":1}\n\ndata: [DONE]\n\n"));
    BOOST_TEST(has_ended("data:[DONE]\r\n\r\n"));
    BOOST_TEST(has_ended("event: response.completed\ndata: {\"x\":1}\n\n"));
    BOOST_TEST(has_ended("data: {\"type\":\"response.failed\"}\n\n"));
    BOOST_TEST(has_ended("data: {\"error\":{\"message\":\"no\"}}\n\n"));
    BOOST_TEST(has_ended("data: [DONE]\n\n: a comment\n\n\n"));
}

BOOST_AUTO_TEST_CASE(a_stream_without_its_last_event_or_within_one_has_not_ended) {
    BOOST_TEST(!has_ended(""));
    BOOST_TEST(!has_ended("data: {\"a\":1}\n\n"));
    BOOST_TEST(!has_ended("data: [DONE]"));
    BOOST_TEST(!has_ended("data: [DONE]\n"));
    BOOST_TEST(!has_ended("data: [DONE]\n\ndata: {\"a\""));
    BOOST_TEST(!has_ended("data: [DONE]\n\ndata: {\"a\":1}\n\n"));
    BOOST_TEST(!has_ended("data: {\"text\":\"[DONE]\"}\n\n"));
    BOOST_TEST(!has_ended("event: response.created\ndata: {}\n\n"));
    BOOST_TEST(!has_ended(": ping\n\n"));
}

BOOST_AUTO_TEST_SUITE_END()
