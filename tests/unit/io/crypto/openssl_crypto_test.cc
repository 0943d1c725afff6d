#include "io/crypto/openssl_crypto.h"

#include <boost/test/unit_test.hpp>
#include <string>

using exa::as_bytes;
using exa::Bytes;
using exa::ByteView;

namespace {

const exa::io::crypto::OpenSslCrypto crypto;

Bytes hex(std::string_view text) {
    Bytes bytes(text.size() / 2);
    BOOST_TEST_REQUIRE(exa::from_hex(text, bytes));
    return bytes;
}

template <std::size_t n>
std::array<std::uint8_t, n> fixed(std::string_view text) {
    std::array<std::uint8_t, n> bytes{};
    BOOST_TEST_REQUIRE(exa::from_hex(text, bytes));
    return bytes;
}

// McGrew and Viega, test case 16 of "The Galois/Counter Mode of Operation".
const auto key_16 = fixed<32>("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308");
const auto nonce_16 = fixed<12>("cafebabefacedbaddecaf888");
const char* const plain_16 =
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657"
    "ba637b39";
const char* const associated_16 = "feedfacedeadbeeffeedfacedeadbeefabaddad2";
const char* const sealed_16 =
    "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0a"
    "bcc9f66276fc6ece0f4e1768cddf8853bb2d551b";

}  // namespace

BOOST_AUTO_TEST_SUITE(openssl_crypto)

BOOST_AUTO_TEST_CASE(sha256_gives_the_digests_of_fips_180_4) {
    BOOST_TEST(exa::to_hex(crypto.sha256({})) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    BOOST_TEST(exa::to_hex(crypto.sha256(as_bytes("abc"))) ==
               "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    BOOST_TEST(exa::to_hex(crypto.sha256(as_bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"))) ==
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

BOOST_AUTO_TEST_CASE(hmac_gives_the_codes_of_rfc_4231) {
    BOOST_TEST(exa::to_hex(crypto.hmac_sha256(Bytes(20, 0x0b), as_bytes("Hi There"))) ==
               "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    BOOST_TEST(exa::to_hex(crypto.hmac_sha256(as_bytes("Jefe"), as_bytes("what do ya want for nothing?"))) ==
               "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    const auto long_key =
        crypto.hmac_sha256(Bytes(131, 0xaa), as_bytes("Test Using Larger Than Block-Size Key - Hash Key First"));
    BOOST_TEST(exa::to_hex(long_key) == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

BOOST_AUTO_TEST_CASE(empty_key_and_message_are_a_key_and_a_message) {
    BOOST_TEST(exa::to_hex(crypto.hmac_sha256({}, {})) ==
               "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

BOOST_AUTO_TEST_CASE(hkdf_gives_the_first_block_of_rfc_5869) {
    BOOST_TEST(exa::to_hex(crypto.hkdf_sha256(Bytes(22, 0x0b), hex("000102030405060708090a0b0c"),
                                              hex("f0f1f2f3f4f5f6f7f8f9"))) ==
               "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf");
    BOOST_TEST(exa::to_hex(crypto.hkdf_sha256(Bytes(22, 0x0b), {}, {})) ==
               "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d");
}

BOOST_AUTO_TEST_CASE(gcm_gives_the_ciphertexts_of_its_specification) {
    const exa::AeadKey zero_key{};
    const exa::AeadNonce zero_nonce{};
    BOOST_TEST(exa::to_hex(crypto.seal(zero_key, zero_nonce, {}, {})) == "530f8afbc74536b9a963b4f1c4cb738b");
    BOOST_TEST(exa::to_hex(crypto.seal(zero_key, zero_nonce, {}, Bytes(16, 0))) ==
               "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919");
    BOOST_TEST(exa::to_hex(crypto.seal(key_16, nonce_16, hex(associated_16), hex(plain_16))) == sealed_16);
}

BOOST_AUTO_TEST_CASE(sealed_bytes_open_again) {
    const auto plain = crypto.open(key_16, nonce_16, hex(associated_16), hex(sealed_16));
    BOOST_TEST_REQUIRE(plain.has_value());
    BOOST_TEST(exa::to_hex(*plain) == plain_16);
    BOOST_TEST(crypto.open(exa::AeadKey{}, {}, {}, hex("530f8afbc74536b9a963b4f1c4cb738b"))->empty());
}

BOOST_AUTO_TEST_CASE(any_changed_bit_opens_nothing) {
    const Bytes sealed = hex(sealed_16);
    for (std::size_t bit = 0; bit < sealed.size() * 8; ++bit) {
        Bytes changed = sealed;
        changed[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
        BOOST_TEST(!crypto.open(key_16, nonce_16, hex(associated_16), changed).has_value());
    }
    BOOST_TEST(!crypto.open(key_16, nonce_16, {}, sealed).has_value());
    exa::AeadNonce nonce = nonce_16;
    nonce[11] ^= 1;
    BOOST_TEST(!crypto.open(key_16, nonce, hex(associated_16), sealed).has_value());
}

BOOST_AUTO_TEST_CASE(bytes_shorter_than_a_tag_open_nothing) {
    for (std::size_t size = 0; size < 16; ++size)
        BOOST_TEST(!crypto.open(key_16, nonce_16, {}, Bytes(size, 0)).has_value());
}

BOOST_AUTO_TEST_CASE(a_key_that_was_set_up_once_seals_and_opens_in_turn) {
    const auto aead = crypto.aead(key_16);
    const Bytes plain = hex(plain_16);
    Bytes sealed(plain.size() + exa::aead_tag_size);
    Bytes opened(plain.size());
    for (int turn = 0; turn < 2; ++turn) {
        aead->seal(nonce_16, hex(associated_16), plain, sealed);
        BOOST_TEST(exa::to_hex(sealed) == sealed_16);
        Bytes changed = sealed;
        changed[3] ^= 4;
        BOOST_TEST(!aead->open(nonce_16, hex(associated_16), changed, opened));
        BOOST_TEST(aead->open(nonce_16, hex(associated_16), sealed, opened));
        BOOST_TEST(exa::to_hex(opened) == plain_16);
    }
}

BOOST_AUTO_TEST_SUITE_END()
