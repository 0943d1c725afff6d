#include "openai/answer.h"
#include "support/print.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

namespace openai = exa::openai;
using openai::Shape;

BOOST_AUTO_TEST_SUITE(answer)

BOOST_AUTO_TEST_CASE(an_error_behind_the_first_byte_is_one_event) {
    const std::string event = openai::error_event(openai::upstream_failed("gone"));
    BOOST_TEST_REQUIRE(event.starts_with("data: "));
    BOOST_TEST(event.find("\n\n") == event.size() - 2);
    const auto data = boost::json::parse(event.substr(6));
    BOOST_TEST(data.at("error").at("code") == "upstream_failed");
}

BOOST_AUTO_TEST_CASE(ids_show_their_shape_and_all_random_bits) {
    BOOST_TEST(openai::answer_id(Shape::chat, 0x0123456789abcdef, 0xf) == "chatcmpl-0123456789abcdef000000000000000f");
    BOOST_TEST(openai::answer_id(Shape::completion, 0, 0) == "cmpl-" + std::string(32, '0'));
    BOOST_TEST(openai::random_id("resp_", ~std::uint64_t{0}, 1) ==
               "resp_" + std::string(16, 'f') + std::string(15, '0') + "1");
}

BOOST_AUTO_TEST_SUITE_END()
