#include "kv/tenant.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "io/crypto/openssl_crypto.h"

using namespace exa;
using namespace exa::kv;

namespace {

const io::crypto::OpenSslCrypto crypto;

}  // namespace

BOOST_AUTO_TEST_SUITE(tenant)

// Every stored key hangs on the salt: a change makes all of them misses.
BOOST_AUTO_TEST_CASE(salt_and_tag_are_the_wire_contract) {
    const Digest salt = tenant_salt(crypto, as_bytes("secret"), "acme");
    BOOST_TEST(to_hex(salt) == "a0f1c22ee487585a32353e124a7d2d3009e2ad77183014c1cf60c1fd91110a5d");
    BOOST_TEST(tenant_tag(crypto, salt) == 16580038489690425977u);
}

BOOST_AUTO_TEST_CASE(secret_and_name_both_count) {
    const std::set<Digest> salts = {
        tenant_salt(crypto, as_bytes("secret"), "acme"), tenant_salt(crypto, as_bytes("secret"), "acm"),
        tenant_salt(crypto, as_bytes("secret"), ""), tenant_salt(crypto, as_bytes("secret2"), "acme")};
    std::set<std::uint64_t> tags;
    for (const Digest& salt : salts) tags.insert(tenant_tag(crypto, salt));
    BOOST_TEST(salts.size() == 4u);
    BOOST_TEST(tags.size() == 4u);
}

BOOST_AUTO_TEST_SUITE_END()
