#include "openai/write_json.h"
#include "support/print.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>
#include <limits>

namespace {

namespace openai = exa::openai;

template <class Number>
std::string written(Number number) {
    std::string out;
    openai::append_number(out, number);
    return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(write_json)

BOOST_AUTO_TEST_CASE(every_ascii_character_reads_back_as_itself) {
    std::string all;
    for (int code = 0; code < 128; ++code) all += static_cast<char>(code);
    all += "\xC3\xA9\xF0\x9F\x98\x80";
    const auto read = boost::json::parse(openai::quoted(all));
    BOOST_TEST(std::string(read.as_string()) == all);
    BOOST_TEST(openai::quoted(all) == boost::json::serialize(read));
}

BOOST_AUTO_TEST_CASE(a_text_of_nothing_is_two_quotes) {
    std::string out = "x";
    openai::append_quoted(out, "");
    BOOST_TEST(out == "x\"\"");
}

BOOST_AUTO_TEST_CASE(numbers_are_the_shortest_that_read_back) {
    BOOST_TEST(written(0.1F) == "0.1");
    BOOST_TEST(written(0.1) == "0.1");
    BOOST_TEST(written(static_cast<double>(0.1F)) != "0.1");
    BOOST_TEST(written(-2.0F) == "-2");
    for (const double number : {1e-300, -1.5e300, 1.0 / 3.0, 123456789.0})
        BOOST_TEST(boost::json::parse(written(number)).to_number<double>() == number);
}

BOOST_AUTO_TEST_CASE(what_json_has_no_number_for_stays_json) {
    const float infinity = std::numeric_limits<float>::infinity();
    BOOST_TEST(boost::json::parse(written(infinity)).as_double() > 3e38);
    BOOST_TEST(boost::json::parse(written(-infinity)).as_double() < -3e38);
    BOOST_TEST(written(std::numeric_limits<float>::quiet_NaN()) == "0");
}

BOOST_AUTO_TEST_SUITE_END()
