#include "exaserve/table.h"

#include <boost/test/unit_test.hpp>

using namespace exa::cli;

BOOST_AUTO_TEST_SUITE(table)

BOOST_AUTO_TEST_CASE(columns_line_up_and_lines_end_without_spaces) {
    Table table({{"NAME"}, {"LOAD", Align::right}, {"RACK"}});
    table.add_row({"a", "10", "r"});
    table.add_row({"longer", "5", ""});
    BOOST_TEST(table.render(Style::plain) ==
               "NAME    LOAD  RACK\n"
               "a         10  r\n"
               "longer     5\n");
}

BOOST_AUTO_TEST_CASE(code_points_count_once) {
    Table table({{"N"}, {"X"}});
    table.add_row({"\xC3\xA9\xC3\xA9", "1"});
    table.add_row({"ab", "2"});
    BOOST_TEST(table.render(Style::plain) == "N   X\n\xC3\xA9\xC3\xA9  1\nab  2\n");
}

BOOST_AUTO_TEST_CASE(only_titles_are_bold_and_only_in_color) {
    Table table({{"N"}});
    table.add_row({"a"});
    BOOST_TEST(table.render(Style::color) == "\x1b[1mN\x1b[0m\na\n");
    BOOST_TEST(table.render(Style::plain).find('\x1b') == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_name_cannot_steer_the_terminal) {
    Table table({{"N"}});
    table.add_row(
        {"a\x1b[2J\n\x7F\xC2\x9B"
         "b"});
    BOOST_TEST(table.render(Style::plain) == "N\na?[2J???b\n");
}

BOOST_AUTO_TEST_CASE(durations_have_the_two_largest_units) {
    BOOST_TEST(human_seconds(0.45) == "450 ms");
    BOOST_TEST(human_seconds(5.4) == "5 s");
    BOOST_TEST(human_seconds(200) == "3 min 20 s");
    BOOST_TEST(human_seconds(3600) == "1 h");
    BOOST_TEST(human_seconds(7500) == "2 h 5 min");
    BOOST_TEST(human_seconds(4 * 86400 + 3600) == "4 d 1 h");
    BOOST_TEST(human_seconds(-1) == "-");
}

BOOST_AUTO_TEST_CASE(shares_are_percent_within_the_whole) {
    BOOST_TEST(human_share(0.251) == "25.1 %");
    BOOST_TEST(human_share(2) == "100.0 %");
    BOOST_TEST(human_share(-1) == "0.0 %");
}

BOOST_AUTO_TEST_CASE(bytes_are_told_in_their_largest_unit) {
    BOOST_TEST(human_bytes(0) == "0 B");
    BOOST_TEST(human_bytes(1023) == "1023 B");
    BOOST_TEST(human_bytes(1536) == "1.5 KiB");
    BOOST_TEST(human_bytes(0x1p30) == "1.0 GiB");
    BOOST_TEST(human_bytes(0x1p60) == "1048576.0 TiB");
    BOOST_TEST(human_bytes(-1) == "-");
}

BOOST_AUTO_TEST_SUITE_END()
