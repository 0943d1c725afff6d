#include "base/endpoint.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

using exa::parse_endpoint;

BOOST_AUTO_TEST_SUITE(endpoint)

BOOST_AUTO_TEST_CASE(both_families_survive_text_and_back) {
    for (const char* text :
         {"127.0.0.1:7946", "0.0.0.0:0", "255.255.255.255:65535", "[::1]:7946", "[2001:db8::7]:80"}) {
        const auto parsed = parse_endpoint(text);
        BOOST_REQUIRE(parsed.has_value());
        BOOST_TEST(to_string(*parsed) == text);
    }
}

BOOST_AUTO_TEST_CASE(a_mapped_address_is_the_v4_address) {
    const auto mapped = parse_endpoint("[::ffff:10.1.2.3]:9");
    BOOST_REQUIRE(mapped.has_value());
    BOOST_TEST(mapped->is_v4());
    BOOST_TEST(mapped == parse_endpoint("10.1.2.3:9"));
    BOOST_TEST(to_string(*mapped) == "10.1.2.3:9");
    BOOST_TEST(!parse_endpoint("[::1]:9")->is_v4());
}

BOOST_AUTO_TEST_CASE(only_all_zero_addresses_are_unspecified) {
    BOOST_TEST(parse_endpoint("0.0.0.0:1")->is_unspecified());
    BOOST_TEST(parse_endpoint("[::]:1")->is_unspecified());
    BOOST_TEST(!parse_endpoint("0.0.0.1:1")->is_unspecified());
    BOOST_TEST(!parse_endpoint("[::1]:1")->is_unspecified());
    BOOST_TEST(exa::Endpoint().is_unspecified());
}

BOOST_AUTO_TEST_CASE(malformed_text_is_refused) {
    for (const char* text : {"",
                             ":",
                             "127.0.0.1",
                             "127.0.0.1:",
                             ":80",
                             "127.0.0.1:65536",
                             "127.0.0.1:-1",
                             "127.0.0.1:+1",
                             "127.0.0.1: 80",
                             "127.0.0.1:80 ",
                             " 127.0.0.1:80",
                             "127.0.0:80",
                             "127.0.0.1.5:80",
                             "256.0.0.1:80",
                             "localhost:80",
                             "::1:80",
                             "[::1]",
                             "[::1:80",
                             "[]:80",
                             "[127.0.0.1]:80",
                             "[::1%lo]:80",
                             "127.0.0.1:0x50"})
        BOOST_TEST(!parse_endpoint(text).has_value(), text);
    BOOST_TEST(!parse_endpoint(std::string("127.0.0.1\0:80", 13)).has_value());
    BOOST_TEST(!parse_endpoint(std::string(100'000, '1') + ":80").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
