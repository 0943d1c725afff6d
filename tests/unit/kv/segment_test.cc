#include "kv/segment.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "io/crypto/openssl_crypto.h"
#include "kv/errc.h"
#include "support/print.h"

using namespace exa;
using namespace exa::kv;

namespace {

const io::crypto::OpenSslCrypto crypto;
const SegmentSealer sealer(crypto, as_bytes("the root secret"));

Bytes vector_bytes(const std::string& name) {
    const char* tests = std::getenv("EXASERVE_TESTS");
    BOOST_REQUIRE_MESSAGE(tests != nullptr, "EXASERVE_TESTS names the tests folder");
    std::ifstream file(std::string(tests) + "/../proto/vectors/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

SegmentHead segment_head() {
    SegmentHead head;
    head.key = {crypto.sha256(as_bytes("key"))};
    head.parent = {crypto.sha256(as_bytes("parent"))};
    head.tenant = 0x0123456789abcdef;
    for (std::size_t i = 0; i < head.nonce.size(); ++i) head.nonce[i] = static_cast<std::uint8_t>(200 + i);
    head.tokens = 64;
    return head;
}

SegmentHead value_head() {
    SegmentHead head = segment_head();
    head.parent = {};
    head.tokens = 0;
    head.stamp = 1'800'000'000'000'000'001;
    head.expires_s = 1'900'000'000;
    head.kind = SegmentKind::value;
    return head;
}

Bytes sealed(const SegmentSealer& with, const SegmentHead& head, std::size_t payload_size) {
    SegmentBuffer buffer(segment_header_size + payload_size);
    for (std::size_t i = 0; i < payload_size; ++i)
        buffer.bytes()[segment_header_size + i] = static_cast<std::uint8_t>(i * 7);
    with.seal(head, buffer);
    const ByteView view = buffer.view();
    return {view.begin(), view.end()};
}

errc why(const Result<SegmentHead>& result) {
    BOOST_REQUIRE(result.has_error());
    BOOST_TEST_REQUIRE(&result.error().code.category() == &make_error_code(errc{}).category());
    return static_cast<errc>(result.error().code.value());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(segment)

// Disks are full of these: a change of the form makes all of them misses.
BOOST_AUTO_TEST_CASE(bytes_are_the_golden_ones) {
    BOOST_TEST(to_hex(sealed(sealer, segment_head(), 96)) == to_hex(vector_bytes("segment_1.bin")));
    BOOST_TEST(to_hex(sealed(sealer, value_head(), 5)) == to_hex(vector_bytes("segment_value_1.bin")));
    BOOST_TEST(sealer.verify(segment_head().key, vector_bytes("segment_1.bin")).has_value());
    BOOST_TEST(sealer.verify(value_head().key, vector_bytes("segment_value_1.bin")).has_value());
}

BOOST_AUTO_TEST_CASE(what_was_sealed_verifies_and_reads_as_it_was) {
    for (const std::size_t size : {0u, 1u, 63u, 64u, 4096u, 100'000u}) {
        for (SegmentHead head : {segment_head(), value_head()}) {
            const Bytes bytes = sealed(sealer, head, size);
            const auto verified = sealer.verify(head.key, bytes);
            BOOST_REQUIRE(verified.has_value());
            head.payload_size = size;
            head.checksum = verified.value().checksum;
            BOOST_TEST(verified.value() == head);
            BOOST_TEST(parse_segment(bytes).value() == head);
        }
    }
}

BOOST_AUTO_TEST_CASE(every_flipped_bit_is_refused) {
    const SegmentHead head = segment_head();
    const Bytes bytes = sealed(sealer, head, 130);
    std::size_t accepted = 0;
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        Bytes changed = bytes;
        changed[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
        if (sealer.verify(head.key, changed).has_value()) ++accepted;
    }
    BOOST_TEST(accepted == 0u);
}

BOOST_AUTO_TEST_CASE(the_mac_unchecked_mutant_accepts_what_is_changed_or_foreign) {
    const SegmentSealer careless(crypto, as_bytes("the root secret"), Mutant::mac_unchecked);
    const SegmentHead head = segment_head();
    Bytes bytes = sealed(sealer, head, 130);
    bytes.back() ^= 1;
    BOOST_TEST(careless.verify(head.key, bytes).has_value());
    BOOST_TEST(careless.verify({}, bytes).has_value());
}

BOOST_AUTO_TEST_CASE(every_other_length_is_refused) {
    const SegmentHead head = segment_head();
    const Bytes bytes = sealed(sealer, head, 70);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        BOOST_TEST(why(sealer.verify(head.key, ByteView(bytes).first(size))) == errc::malformed);
    Bytes longer = bytes;
    longer.push_back(0);
    BOOST_TEST(why(sealer.verify(head.key, longer)) == errc::malformed);
    longer.resize(1'000'000);
    BOOST_TEST(why(sealer.verify(head.key, longer)) == errc::malformed);
}

// A misdirected read or write: the bytes are whole, but stand in another's place.
BOOST_AUTO_TEST_CASE(the_segment_of_another_key_is_refused) {
    SegmentHead other = segment_head();
    other.key = {crypto.sha256(as_bytes("another key"))};
    BOOST_TEST(why(sealer.verify(segment_head().key, sealed(sealer, other, 64))) == errc::wrong_key);
}

BOOST_AUTO_TEST_CASE(another_header_before_a_payload_is_refused) {
    const SegmentHead head = segment_head();
    SegmentHead other = head;
    other.key = {crypto.sha256(as_bytes("another key"))};
    Bytes mixed = sealed(sealer, head, 64);
    const Bytes from = sealed(sealer, other, 64);
    // Equal payloads, so that the checksum holds: only the MAC can tell.
    std::copy_n(from.begin() + 32, 32, mixed.begin() + 32);
    BOOST_TEST(why(sealer.verify(other.key, mixed)) == errc::wrong_seal);
}

BOOST_AUTO_TEST_CASE(a_changed_payload_with_a_fitting_checksum_is_refused) {
    const SegmentHead head = segment_head();
    const SegmentSealer foreign(crypto, as_bytes("another secret"));
    Bytes forged = sealed(foreign, head, 64);
    BOOST_TEST(why(sealer.verify(head.key, forged)) == errc::wrong_seal);
    const Bytes real = sealed(sealer, head, 64);
    std::copy_n(real.begin(), aead_tag_size, forged.begin());
    forged[segment_header_size] = 0xee;
    BOOST_TEST(why(sealer.verify(head.key, forged)) == errc::wrong_checksum);
}

BOOST_AUTO_TEST_CASE(a_changed_payload_is_told_from_a_foreign_seal) {
    const SegmentHead head = segment_head();
    Bytes bytes = sealed(sealer, head, 64);
    bytes.back() ^= 1;
    BOOST_TEST(why(sealer.verify(head.key, bytes)) == errc::wrong_checksum);
}

BOOST_AUTO_TEST_CASE(lengths_that_no_segment_has_are_refused_before_any_reading) {
    Bytes bytes = sealed(sealer, segment_head(), 0);
    for (std::size_t i = 0; i < 8; ++i) bytes[112 + i] = 0xff;
    BOOST_TEST(why(parse_segment(bytes)) == errc::malformed);
    BOOST_TEST(!is_valid_sealed_size(segment_header_size - 1));
    BOOST_TEST(is_valid_sealed_size(segment_header_size + segment_payload_max));
    BOOST_TEST(!is_valid_sealed_size(segment_header_size + segment_payload_max + 1));
    BOOST_TEST(!is_valid_sealed_size(~0ull));
}

BOOST_AUTO_TEST_SUITE_END()
