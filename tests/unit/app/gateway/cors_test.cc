#include "app/gateway/cors.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

using namespace exa;
using namespace exa::app;
using namespace exa::app::gateway;

namespace {

io::http::HttpRequest from(std::string origin) {
    io::http::HttpRequest request;
    request.method = "POST";
    request.path = "/v1/completions";
    if (!origin.empty()) request.headers.add("Origin", std::move(origin));
    return request;
}

io::http::HttpRequest preflight_from(std::string origin, std::string headers) {
    io::http::HttpRequest request = from(std::move(origin));
    request.method = "OPTIONS";
    request.headers.add("Access-Control-Request-Method", "POST");
    if (!headers.empty()) request.headers.add("Access-Control-Request-Headers", std::move(headers));
    return request;
}

// The fields as text.
std::string fields(const Cors& cors, const io::http::HttpRequest& request) {
    std::string text;
    for (const auto& [name, value] : cors.fields(request)) text += name + "=" + value + ";";
    return text;
}

constexpr std::string_view exposes =
    "access-control-expose-headers=x-request-id, x-session-id, x-exaserve-replica, retry-after, retry-after-ms, "
    "x-should-retry;";

}  // namespace

BOOST_AUTO_TEST_SUITE(cors)

BOOST_AUTO_TEST_CASE(off_says_nothing_to_anybody) {
    const Cors off;
    BOOST_TEST(fields(off, from("https://a")) == "");
    BOOST_TEST(!off.preflight(preflight_from("https://a", ""), "POST").has_value());
}

BOOST_AUTO_TEST_CASE(listed_origins_are_named_and_others_are_not) {
    const Cors cors = Cors::parse("https://a.example,http://localhost:3000").value();
    BOOST_TEST(fields(cors, from("http://localhost:3000")) ==
               "vary=origin;access-control-allow-origin=http://localhost:3000;" + std::string(exposes));
    for (const char* other : {"", "null", "https://a.example.evil", "http://a.example", "https://a.example:444"})
        BOOST_TEST(fields(cors, from(other)) == "vary=origin;", other);
}

BOOST_AUTO_TEST_CASE(any_origin_needs_no_name) {
    const Cors cors = Cors::parse("*").value();
    BOOST_TEST(fields(cors, from("null")) == "access-control-allow-origin=*;" + std::string(exposes));
    BOOST_TEST(fields(cors, from("")) == "");
}

BOOST_AUTO_TEST_CASE(pages_never_see_the_cluster) {
    const Cors cors = Cors::parse("*").value();
    io::http::HttpRequest request = preflight_from("https://a", "");
    request.path = "/exaserve/v1/members";
    BOOST_TEST(fields(cors, request) == "");
    BOOST_TEST(!cors.preflight(request, "GET").has_value());
}

BOOST_AUTO_TEST_CASE(preflight_allows_what_is_asked_for) {
    const Cors cors = Cors::parse("https://a").value();
    const auto answer = cors.preflight(preflight_from("https://a", "authorization, content-type"), "GET, POST");
    BOOST_TEST_REQUIRE(answer.has_value());
    BOOST_TEST(answer->status == 204);
    BOOST_TEST(answer->headers.find("access-control-allow-methods") == "GET, POST");
    BOOST_TEST(answer->headers.find("access-control-allow-headers") == "authorization, content-type");
    BOOST_TEST(!answer->headers.find("access-control-allow-credentials").has_value());
    BOOST_TEST(!cors.preflight(preflight_from("https://b", ""), "POST").has_value());
    BOOST_TEST(!cors.preflight(from("https://a"), "POST").has_value());
    const auto odd = cors.preflight(preflight_from("https://a", "a\x01"), "POST");
    BOOST_TEST_REQUIRE(odd.has_value());
    BOOST_TEST(!odd->headers.find("access-control-allow-headers"));
}

BOOST_AUTO_TEST_CASE(what_is_no_origin_is_refused) {
    for (const char* text : {"a", "https://", "https://a/", "https://A", "ftp://a", "https://a,,",
                             "https://a, https://b", "null", "https://a/b", "https://user@a"})
        BOOST_TEST(!Cors::parse(text).has_value(), text);
    BOOST_TEST(Cors::parse("").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
