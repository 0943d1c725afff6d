#include "io/resolve.h"

#include <boost/test/unit_test.hpp>

#include "io/errc.h"
#include "support/print.h"

using exa::io::parse_host_port;

namespace {

std::string parsed(std::string_view text, std::uint16_t default_port = 0) {
    const auto result = parse_host_port(text, default_port);
    return result ? result.value().host + " " + std::to_string(result.value().port) : "refused";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(resolve)

BOOST_AUTO_TEST_CASE(host_and_port_come_apart_in_every_form) {
    BOOST_TEST(parsed("node1:7946") == "node1 7946");
    BOOST_TEST(parsed("10.0.0.1:1") == "10.0.0.1 1");
    BOOST_TEST(parsed("[::1]:65535") == "::1 65535");
    BOOST_TEST(parsed("node1", 7946) == "node1 7946");
    BOOST_TEST(parsed("::1", 7946) == "::1 7946");
    BOOST_TEST(parsed("[fe80::1]", 7946) == "fe80::1 7946");
}

BOOST_AUTO_TEST_CASE(texts_that_name_no_endpoint_are_refused) {
    for (const char* text : {"", ":1", "node1", "node1:", "node1:0", "node1:65536", "node1:-1", "node1:x", "node1:1x",
                             "[::1", "[]:1", "a b:1", "http://node1:1"})
        BOOST_TEST(parsed(text) == "refused", text);
    const auto refused = parse_host_port("node1:99999");
    BOOST_TEST(refused.error().code == make_error_code(exa::io::errc::bad_address));
    BOOST_TEST(refused.error().message().find("node1:99999") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
