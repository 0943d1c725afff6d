#include "base/siphash.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <cstddef>

BOOST_AUTO_TEST_SUITE(siphash_)

using namespace exa;

// Appendix A of the paper, and the first of its authors' table: key 00 01 .. 0f, input 00 01 .. of each length.
BOOST_AUTO_TEST_CASE(values_are_those_of_the_paper) {
    std::array<std::uint8_t, 16> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
    const SipKey key = make_sip_key(bytes);
    BOOST_TEST(key.k0 == 0x0706050403020100U);
    BOOST_TEST(siphash(key, ByteView(bytes).first(0)) == 0x726fdb47dd0e0e31U);
    BOOST_TEST(siphash(key, ByteView(bytes).first(1)) == 0x74f839c593dc67fdU);
    BOOST_TEST(siphash(key, ByteView(bytes).first(15)) == 0xa129ca6149be45e5U);
}

BOOST_AUTO_TEST_CASE(length_counts_though_bytes_are_zero) {
    const std::array<std::uint8_t, 16> zeros{};
    const SipKey key{1, 2};
    for (std::size_t length = 0; length < zeros.size(); ++length)
        BOOST_TEST(siphash(key, ByteView(zeros).first(length)) != siphash(key, ByteView(zeros).first(length + 1)));
}

BOOST_AUTO_TEST_CASE(another_key_gives_another_value) {
    const std::array<std::uint8_t, 3> bytes{1, 2, 3};
    BOOST_TEST(siphash({1, 2}, bytes) != siphash({1, 3}, bytes));
    BOOST_TEST(siphash({1, 2}, bytes) != siphash({2, 2}, bytes));
}

BOOST_AUTO_TEST_CASE(pieces_give_the_value_of_the_whole) {
    std::array<std::uint8_t, 40> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(7 * i + 1);
    const SipKey key{3, 4};
    for (std::size_t first = 0; first <= bytes.size(); ++first) {
        for (std::size_t second = first; second <= bytes.size(); ++second) {
            SipHash hash(key);
            hash.add(ByteView(bytes).first(first));
            hash.add(ByteView(bytes).subspan(first, second - first));
            hash.add(ByteView(bytes).subspan(second));
            BOOST_TEST(hash.value() == siphash(key, bytes));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
