#include "base/hash.h"

#include <boost/test/unit_test.hpp>

#include "base/bytes.h"

using exa::hash64;

BOOST_AUTO_TEST_SUITE(hash)

// Ring points and rendezvous scores are made of these: a change moves every key of a running cluster.
BOOST_AUTO_TEST_CASE(values_are_the_wire_contract) {
    BOOST_TEST(hash64(exa::ByteView()) == 0x2d06800538d394c2u);
    BOOST_TEST(hash64(exa::as_bytes("exaserve")) == 7931183494824741738u);
    BOOST_TEST(hash64(exa::as_bytes("exaserve"), 7) == 5149205857945667164u);
    exa::Bytes kilobyte;
    for (int i = 0; i < 1'024; ++i) kilobyte.push_back(static_cast<std::uint8_t>(i));
    BOOST_TEST(hash64(kilobyte) == 12137474952470826274u);
    BOOST_TEST(hash64(1, 2) == 571542372673154031u);
}

BOOST_AUTO_TEST_CASE(two_integers_are_their_little_endian_bytes) {
    const exa::Bytes bytes{0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01, 2, 0, 0, 0, 0, 0, 0, 0};
    BOOST_TEST(hash64(0x0123456789abcdef, 2, 5) == hash64(bytes, 5));
    BOOST_TEST(hash64(1, 2) != hash64(2, 1));
}

BOOST_AUTO_TEST_SUITE_END()
