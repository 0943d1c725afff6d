#include "io/http/message.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

using namespace exa::io;
using namespace exa::io::http;

BOOST_AUTO_TEST_SUITE(message)

BOOST_AUTO_TEST_CASE(header_names_compare_without_case) {
    HttpHeaders headers{{"X-Session-Id", "abc"}, {"accept", "a"}, {"Accept", "b"}};
    BOOST_TEST(headers.find("x-session-id") == "abc");
    BOOST_TEST(headers.find("ACCEPT") == "a");
    BOOST_TEST(!headers.find("x-session").has_value());
    BOOST_TEST(!headers.find("").has_value());
}

BOOST_AUTO_TEST_CASE(headers_give_what_was_added_in_its_order) {
    const std::string large(70'000, 'v');
    HttpHeaders headers;
    headers.reserve(10);
    headers.add("b", "");
    headers.add("", "no name");
    headers.add("large", large);
    headers.add("b", "again");
    const std::vector<std::pair<std::string, std::string>> expected{
        {"b", ""}, {"", "no name"}, {"large", large}, {"b", "again"}};
    for (const HttpHeaders& one : {headers, HttpHeaders(headers)}) {
        BOOST_TEST(one.size() == 4U);
        BOOST_TEST((std::vector<std::pair<std::string, std::string>>(one.begin(), one.end())) == expected);
        BOOST_TEST(one.find("B") == "");
        BOOST_TEST(one.find("LARGE") == large);
    }
    const HttpHeaders none;
    BOOST_TEST(none.begin() == none.end());
}

BOOST_AUTO_TEST_CASE(errors_have_the_shape_that_openai_clients_read) {
    const auto response = http_error(413, "Too big.", "invalid_request_error", "request_too_large");
    BOOST_TEST(response.status == 413);
    BOOST_TEST(
        response.body ==
        R"({"error":{"message":"Too big.","type":"invalid_request_error","param":null,"code":"request_too_large"}})");
    BOOST_TEST(response.headers.find("content-type") == "application/json");
}

BOOST_AUTO_TEST_CASE(every_status_has_a_phrase) {
    BOOST_TEST(reason_phrase(200) == "OK");
    BOOST_TEST(reason_phrase(503) == "Service Unavailable");
    BOOST_TEST(!reason_phrase(299).empty());
}

BOOST_AUTO_TEST_SUITE_END()
