#include "app/attach/reply.h"

#include <boost/test/unit_test.hpp>
#include <string>

BOOST_AUTO_TEST_SUITE(attach_reply)

using exa::app::attach::whole_events;

BOOST_AUTO_TEST_CASE(an_event_is_whole_with_its_empty_line) {
    BOOST_TEST(whole_events("") == 0U);
    BOOST_TEST(whole_events("data: a") == 0U);
    BOOST_TEST(whole_events("data: a\n") == 0U);
    BOOST_TEST(whole_events("data: a\n\n") == 9U);
    BOOST_TEST(whole_events("data: a\n\ndata: b\n") == 9U);
    BOOST_TEST(whole_events("data: a\n\ndata: b\n\nd") == 18U);
}

BOOST_AUTO_TEST_CASE(lines_may_end_with_cr_lf) {
    BOOST_TEST(whole_events("data: a\r\n") == 0U);
    BOOST_TEST(whole_events("data: a\r\n\r") == 0U);
    BOOST_TEST(whole_events("data: a\r\n\r\n") == 11U);
    BOOST_TEST(whole_events("data: a\r\n\r\ndata: b\r\n") == 11U);
}

BOOST_AUTO_TEST_CASE(any_bytes_are_searched_within_bounds) {
    for (const std::string text : {"\n", "\r\n", "\n\n", "\r\n\r\n", "\n\r\n", "\r\r\n"})
        BOOST_TEST(whole_events(text) <= text.size());
    BOOST_TEST(whole_events("\n\n") == 2U);
    BOOST_TEST(whole_events("\n\r\n") == 3U);
}

BOOST_AUTO_TEST_SUITE_END()
