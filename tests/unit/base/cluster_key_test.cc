#include "base/cluster_key.h"

#include <boost/test/unit_test.hpp>

#include "base/link_keys.h"
#include "io/crypto/openssl_crypto.h"
#include "support/print.h"

namespace {

const exa::io::crypto::OpenSslCrypto crypto;

exa::KeySecret filled(std::uint8_t with) {
    exa::KeySecret secret;
    secret.fill(with);
    return secret;
}

// Its hashes are given: an id whose first bytes are all 0 cannot be found by trying.
class FixedHmac final : public exa::Crypto {
  public:
    explicit FixedHmac(exa::Digest digest) : digest_(digest) {}
    exa::Digest sha256(exa::ByteView) const override { return {}; }
    exa::Digest hmac_sha256(exa::ByteView, exa::ByteView) const override { return digest_; }
    exa::Digest hkdf_sha256(exa::ByteView, exa::ByteView, exa::ByteView) const override { return {}; }
    exa::Bytes seal(const exa::AeadKey&, const exa::AeadNonce&, exa::ByteView, exa::ByteView) const override {
        return {};
    }
    std::optional<exa::Bytes> open(const exa::AeadKey&, const exa::AeadNonce&, exa::ByteView,
                                   exa::ByteView) const override {
        return std::nullopt;
    }
    std::unique_ptr<exa::Aead> aead(const exa::AeadKey&) const override { return nullptr; }

  private:
    exa::Digest digest_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(cluster_key)

// A changed value would make every peer of a running cluster hold keys that nobody else names alike.
BOOST_AUTO_TEST_CASE(the_id_of_a_secret_never_changes) {
    BOOST_TEST(to_string(exa::cluster_key(crypto, filled(0)).id) == "0575937b");
}

BOOST_AUTO_TEST_CASE(different_secrets_have_different_ids) {
    BOOST_TEST(exa::cluster_key(crypto, filled(1)).id != exa::cluster_key(crypto, filled(2)).id);
}

BOOST_AUTO_TEST_CASE(an_id_is_never_zero) {
    exa::Digest digest{};
    digest[7] = 9;
    BOOST_TEST(exa::cluster_key(FixedHmac(digest), filled(1)).id.value == 9U);
}

BOOST_AUTO_TEST_CASE(an_id_survives_text_and_back) {
    const exa::KeyId id{0x00ab12f0};
    BOOST_TEST(to_string(id) == "00ab12f0");
    BOOST_TEST(exa::parse_key_id("00ab12f0") == id);
}

BOOST_AUTO_TEST_CASE(malformed_ids_are_refused) {
    for (const char* text : {"", "0", "00000000", "00ab12f", "00ab12f0a", "00ab12fg", "0x00ab12", " 00ab12f"})
        BOOST_TEST(!exa::parse_key_id(text).has_value(), text);
}

BOOST_AUTO_TEST_CASE(a_key_that_is_not_held_is_not_found) {
    const exa::LinkKeys none;
    BOOST_TEST(none.empty());
    const exa::ClusterKey key = exa::cluster_key(crypto, filled(1));
    const exa::LinkKeys one{key.id, {key}};
    BOOST_TEST(!one.empty());
    BOOST_TEST(one.find(key.id) == &one.keys.front());
    BOOST_TEST(one.find({key.id.value + 1}) == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
