#include "app/access/authorizer.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

using namespace exa;
using namespace exa::app;
using namespace exa::app::access;

BOOST_AUTO_TEST_SUITE(authorizer)

namespace {

io::http::HttpRequest from(const char* address) {
    io::http::HttpRequest request;
    request.remote = *parse_endpoint(address);
    return request;
}

const Route& order() {
    return *find_route("POST", "/exaserve/v1/leave").route;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_open_gate_lets_everybody_use_the_api_without_a_tenant) {
    OpenAuthorizer authorizer;
    const auto caller = authorizer.check(from("192.0.2.1:5000"), *find_route("POST", "/v1/completions").route);
    BOOST_TEST_REQUIRE(caller.has_value());
    BOOST_TEST(caller.value().tenant.empty());
    BOOST_TEST(caller.value().priority == wire::Priority::normal);
    BOOST_TEST(authorizer.admit(caller.value(), "any", 1'000'000).has_value());
    BOOST_TEST(authorizer.may_use(caller.value(), "any"));
}

BOOST_AUTO_TEST_CASE(orders_come_from_this_machine_only) {
    OpenAuthorizer authorizer;
    BOOST_TEST(authorizer.check(from("127.0.0.1:5000"), order()).has_value());
    BOOST_TEST(authorizer.check(from("[::1]:5000"), order()).has_value());
    const auto refused = authorizer.check(from("192.0.2.1:5000"), order());
    BOOST_TEST_REQUIRE(!refused.has_value());
    BOOST_TEST(refused.error().status == 403);
}

BOOST_AUTO_TEST_CASE(orders_of_a_web_page_are_refused_wherever_its_browser_runs) {
    OpenAuthorizer authorizer;
    io::http::HttpRequest request = from("127.0.0.1:5000");
    request.headers.add("Origin", "https://example.org");
    BOOST_TEST(!authorizer.check(request, order()).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
