#include "app/access/routes.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>
#include <set>
#include <string>
#include <utility>

using namespace exa;
using namespace exa::app;
using namespace exa::app::access;

BOOST_AUTO_TEST_SUITE(routes)

BOOST_AUTO_TEST_CASE(method_and_path_choose_the_route) {
    const RouteMatch chat = find_route("POST", "/v1/chat/completions");
    BOOST_TEST_REQUIRE(chat.route != nullptr);
    BOOST_TEST(chat.route->resource == Resource::answer);
    BOOST_TEST(chat.route->kind == wire::RequestKind::chat);
    BOOST_TEST(find_route("POST", "/v1/completions").route->kind == wire::RequestKind::completion);
    BOOST_TEST(find_route("POST", "/v1/responses").route->kind == wire::RequestKind::response);
    BOOST_TEST(find_route("POST", "/v1/embeddings").route->kind == wire::RequestKind::embedding);
    BOOST_TEST(find_route("POST", "/tokenize").route->kind == wire::RequestKind::tokenize);
    BOOST_TEST(find_route("POST", "/detokenize").route->kind == wire::RequestKind::detokenize);
    BOOST_TEST(find_route("GET", "/health/live").route->resource == Resource::live);
    BOOST_TEST(find_route("GET", "/health/ready").route->resource == Resource::ready);
    BOOST_TEST(find_route("GET", "/exaserve/v1/keys").route->resource == Resource::keys);
    BOOST_TEST(find_route("POST", "/exaserve/v1/keys").route->resource == Resource::change_keys);
    BOOST_TEST(find_route("GET", "/exaserve/v1/config").route->access == Access::read_only);
    BOOST_TEST(find_route("POST", "/exaserve/v1/config/reload").route->access == Access::admin);
}

BOOST_AUTO_TEST_CASE(head_goes_where_get_does) {
    BOOST_TEST(find_route("HEAD", "/health").route->resource == Resource::ready);
    BOOST_TEST(find_route("HEAD", "/v1/completions").route == nullptr);
}

BOOST_AUTO_TEST_CASE(a_path_that_is_the_start_of_one_hands_on_the_rest) {
    const RouteMatch match = find_route("GET", "/v1/models/org/name%20x");
    BOOST_TEST(match.route->resource == Resource::model);
    BOOST_TEST(match.rest == "org/name%20x");
    BOOST_TEST(find_route("GET", "/v1/models").route->resource == Resource::models);
}

BOOST_AUTO_TEST_CASE(a_slash_behind_a_path_changes_nothing) {
    BOOST_TEST(find_route("POST", "/v1/chat/completions/").route->kind == wire::RequestKind::chat);
    BOOST_TEST(find_route("POST", "/tokenize/").route->kind == wire::RequestKind::tokenize);
    BOOST_TEST(find_route("GET", "/v1/models/").route->resource == Resource::models);
    BOOST_TEST(find_route("GET", "/health/").route->resource == Resource::ready);
    BOOST_TEST(find_route("POST", "/v1/completions//").route == nullptr);
    BOOST_TEST(find_route("PUT", "/v1/completions/").allow == "POST");
}

BOOST_AUTO_TEST_CASE(another_method_names_those_of_the_path_and_an_unknown_path_names_none) {
    const RouteMatch other = find_route("PUT", "/exaserve/v1/keys");
    BOOST_TEST(other.route == nullptr);
    BOOST_TEST(other.allow == "GET, POST");
    BOOST_TEST(find_route("GET", "/v1/completions").allow == "POST");
    BOOST_TEST(find_route("GET", "/v1/completionsx").allow.empty());
    BOOST_TEST(find_route("GET", "").allow.empty());
    BOOST_TEST(find_route("get", "/health").allow == "GET");
}

BOOST_AUTO_TEST_CASE(no_two_routes_are_the_same_and_orders_change_nothing_by_get) {
    std::set<std::pair<std::string_view, std::string_view>> seen;
    for (const Route& route : app::access::routes()) {
        BOOST_TEST(seen.emplace(route.method, route.path).second, route.path);
        if (route.access == Access::admin) BOOST_TEST(route.method == "POST", route.path);
        if (route.access == Access::read_only || route.access == Access::anyone)
            BOOST_TEST(route.method == "GET", route.path);
    }
}

BOOST_AUTO_TEST_SUITE_END()
