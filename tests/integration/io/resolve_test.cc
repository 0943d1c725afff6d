#include "io/resolve.h"

#include "io/errc.h"
#include "support.h"
#include "support/print.h"

using namespace exa::io;
using namespace exa::io::test;
using exa::Endpoint;

BOOST_AUTO_TEST_SUITE(resolve_names)

BOOST_AUTO_TEST_CASE(literals_need_no_look_up_and_names_get_one) {
    asio::io_context io{1};
    drive(io, [&]() -> Awaitable<void> {
        auto literal = co_await resolve("127.0.0.1:7946", 0, seconds(5));
        BOOST_TEST(literal.value() == std::vector<Endpoint>{*exa::parse_endpoint("127.0.0.1:7946")});
        auto six = co_await resolve("::1", 7946, seconds(5));
        BOOST_TEST(six.value() == std::vector<Endpoint>{*exa::parse_endpoint("[::1]:7946")});
        auto name = co_await resolve("localhost:7946", 0, seconds(5));
        BOOST_TEST_REQUIRE(name.has_value());
        BOOST_TEST(!name.value().empty());
        for (const Endpoint& endpoint : name.value()) BOOST_TEST(endpoint.port == 7946);
    });
}

BOOST_AUTO_TEST_CASE(one_bad_seed_does_not_hold_up_the_others) {
    asio::io_context io{1};
    drive(io, [&]() -> Awaitable<void> {
        std::vector<std::string> seeds = {"127.0.0.2:1", "nothing.invalid:1", "127.0.0.1:1", "127.0.0.1:1", "bad"};
        auto resolved = co_await resolve_all(std::move(seeds), 0, seconds(5));
        BOOST_TEST(resolved.endpoints ==
                   (std::vector<Endpoint>{*exa::parse_endpoint("127.0.0.1:1"), *exa::parse_endpoint("127.0.0.2:1")}));
        BOOST_TEST(resolved.failures.size() == 2);
        auto none = co_await resolve_all({}, 0, seconds(5));
        BOOST_TEST(none.endpoints.empty());
    });
}

BOOST_AUTO_TEST_SUITE_END()
