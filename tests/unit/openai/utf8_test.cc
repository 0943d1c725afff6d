#include "openai/utf8.h"

#include <boost/test/unit_test.hpp>

namespace {

using namespace std::string_literals;
using exa::openai::valid_utf8;

const std::string fffd = "\xEF\xBF\xBD";

}  // namespace

BOOST_AUTO_TEST_SUITE(utf8)

BOOST_AUTO_TEST_CASE(well_formed_text_is_left_alone) {
    const std::string text =
        "a\0z \xC2\x80 \xDF\xBF \xE0\xA0\x80 \xED\x9F\xBF \xEF\xBF\xBF \xF0\x90\x80\x80 \xF4\x8F\xBF\xBF"s;
    BOOST_TEST(valid_utf8(text) == text);
}

// The example of Unicode 15, table 3-8, and its neighbours: one replacement for each maximal subpart.
BOOST_AUTO_TEST_CASE(each_maximal_subpart_becomes_one_replacement) {
    BOOST_TEST(valid_utf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41") ==
               fffd + fffd + fffd + fffd + fffd + fffd + fffd + fffd + "A");
    BOOST_TEST(valid_utf8("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41") ==
               fffd + fffd + fffd + fffd + fffd + fffd + fffd + fffd + "A");
    BOOST_TEST(valid_utf8("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42") ==
               fffd + fffd + fffd + fffd + fffd + "A" + fffd + fffd + "B");
    BOOST_TEST(valid_utf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41") == fffd + fffd + fffd + fffd + "A");
}

BOOST_AUTO_TEST_CASE(an_unfinished_code_point_waits_for_its_bytes) {
    std::string partial;
    std::string out;
    exa::openai::append_utf8(partial, "x\xF0\x9F", out);
    BOOST_TEST(out == "x");
    exa::openai::append_utf8(partial, "\x98", out);
    BOOST_TEST(out == "x");
    exa::openai::append_utf8(partial, "\x80", out);
    BOOST_TEST(out == "x\xF0\x9F\x98\x80");
    BOOST_TEST(partial.empty());
}

BOOST_AUTO_TEST_CASE(an_unfinished_code_point_at_the_end_is_replaced_once) {
    std::string partial = "\xF0\x9F\x98";
    std::string out;
    exa::openai::finish_utf8(partial, out);
    BOOST_TEST(out == fffd);
    exa::openai::finish_utf8(partial, out);
    BOOST_TEST(out == fffd);
}

BOOST_AUTO_TEST_CASE(only_whole_code_points_have_a_length) {
    const auto length = [](std::string_view bytes) { return exa::openai::code_point_length(bytes); };
    BOOST_TEST(length("a\xFF") == 1u);
    BOOST_TEST(length("\xC3\xA9") == 2u);
    BOOST_TEST(length("\xE2\x82\xAC") == 3u);
    BOOST_TEST(length("\xF0\x9F\x98\x80x") == 4u);
    // Nothing, cut short, overlong, a surrogate, above U+10FFFF, a continuation alone.
    for (const char* none : {"", "\xF0\x9F\x98", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\x80"})
        BOOST_TEST(length(none) == 0u, none);
}

BOOST_AUTO_TEST_CASE(a_cut_falls_between_code_points) {
    const std::string text = "a\xC3\xA9\xF0\x9F\x98\x80";
    BOOST_TEST(exa::openai::cut_utf8(text, 7) == text);
    BOOST_TEST(exa::openai::cut_utf8(text, 6) == "a\xC3\xA9");
    BOOST_TEST(exa::openai::cut_utf8(text, 2) == "a");
    BOOST_TEST(exa::openai::cut_utf8(text, 0) == "");
}

BOOST_AUTO_TEST_SUITE_END()
