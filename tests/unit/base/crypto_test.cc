#include "base/crypto.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(crypto)

BOOST_AUTO_TEST_CASE(equality_sees_every_bit_and_the_length) {
    const exa::Bytes a{0, 1, 2, 255};
    BOOST_TEST(exa::equal_constant_time(a, a));
    BOOST_TEST(exa::equal_constant_time({}, {}));
    BOOST_TEST(!exa::equal_constant_time(a, exa::ByteView(a).first(3)));
    for (std::size_t i = 0; i < a.size(); ++i) {
        for (int bit = 0; bit < 8; ++bit) {
            exa::Bytes b = a;
            b[i] = static_cast<std::uint8_t>(b[i] ^ (1 << bit));
            BOOST_TEST(!exa::equal_constant_time(a, b));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
