#include "wire/checksum.h"

#include <boost/test/unit_test.hpp>

#include "support/print.h"
#include "wire/errc.h"

using namespace exa;
using wire::errc;

BOOST_AUTO_TEST_SUITE(checksum)

BOOST_AUTO_TEST_CASE(a_packet_comes_back_without_its_checksum) {
    const Bytes packet{1, 2, 3};
    const Bytes sent = wire::add_checksum(packet);
    BOOST_TEST(sent.size() == packet.size() + wire::checksum_bytes);
    const ByteView taken = wire::check_checksum(sent).value();
    BOOST_TEST(Bytes(taken.begin(), taken.end()) == packet);
}

BOOST_AUTO_TEST_CASE(no_flipped_bit_and_no_cut_goes_unnoticed) {
    const Bytes sent = wire::add_checksum(Bytes(200, 7));
    for (std::size_t bit = 0; bit < sent.size() * 8; ++bit) {
        Bytes damaged = sent;
        damaged[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
        BOOST_TEST(wire::check_checksum(damaged).error().code == errc::damaged);
    }
    for (std::size_t size = 0; size < sent.size(); ++size)
        BOOST_TEST(wire::check_checksum(ByteView(sent).first(size)).has_error());
}

BOOST_AUTO_TEST_SUITE_END()
