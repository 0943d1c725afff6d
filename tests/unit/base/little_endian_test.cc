#include "base/little_endian.h"
#include "support/print.h"

#include <array>
#include <boost/test/unit_test.hpp>

using namespace exa;

BOOST_AUTO_TEST_SUITE(little_endian)

BOOST_AUTO_TEST_CASE(numbers_of_every_size_are_written_lowest_byte_first_one_behind_the_other_and_read_back) {
    std::array<std::uint8_t, 15> bytes{};
    std::uint8_t* at = put_le(bytes.data(), std::uint8_t{0xf1});
    at = put_le(at, std::uint16_t{0xf2e3});
    at = put_le(at, std::uint32_t{0xf4e5d6c7});
    at = put_le(at, std::uint64_t{0xf8e7d6c5b4a39281});
    BOOST_TEST(at == bytes.data() + bytes.size());
    const std::array<std::uint8_t, 15> expected = {0xf1, 0xe3, 0xf2, 0xc7, 0xd6, 0xe5, 0xf4, 0x81,
                                                   0x92, 0xa3, 0xb4, 0xc5, 0xd6, 0xe7, 0xf8};
    BOOST_TEST(bytes == expected, boost::test_tools::per_element());
    BOOST_TEST(get_le<std::uint8_t>(bytes.data()) == 0xf1U);
    BOOST_TEST(get_le<std::uint16_t>(bytes.data() + 1) == 0xf2e3U);
    BOOST_TEST(get_le<std::uint32_t>(bytes.data() + 3) == 0xf4e5d6c7U);
    BOOST_TEST(get_le<std::uint64_t>(bytes.data() + 7) == 0xf8e7d6c5b4a39281U);
}

BOOST_AUTO_TEST_SUITE_END()
