#include "app/kv/scopes.h"

#include <boost/test/unit_test.hpp>

#include "support/print.h"
#include "unit/app/kv/fakes.h"

using namespace exa;
using app::kv::KvScopes;
using app::test::crypto;

BOOST_AUTO_TEST_SUITE(kv_scopes)

BOOST_AUTO_TEST_CASE(tenants_secrets_and_models_have_scopes_of_their_own) {
    kv::CacheFingerprint fingerprint;
    const KvScopes scopes(crypto, Bytes(32, 1), fingerprint, 16);
    BOOST_TEST(scopes.of("a") == scopes.of("a"));
    BOOST_TEST(scopes.of("a").root != scopes.of("b").root);
    BOOST_TEST(scopes.of("a").tenant != scopes.of("b").tenant);
    BOOST_TEST(scopes.of("").root != scopes.of("a").root);
    BOOST_TEST(KvScopes(crypto, Bytes(32, 2), fingerprint, 16).of("a").root != scopes.of("a").root);
    fingerprint.version = 9;
    const KvScopes newer(crypto, Bytes(32, 1), fingerprint, 16);
    BOOST_TEST(newer.of("a").root != scopes.of("a").root);
    // A tenant's quota is one, whatever the model.
    BOOST_TEST(newer.of("a").tenant == scopes.of("a").tenant);
    const std::vector<engine::TokenId> prompt(40, 7);
    const auto keys = scopes.keys_of("a", prompt);
    BOOST_TEST(keys.size() == 2U);
    BOOST_TEST(keys.front() == kv::child_key(crypto, scopes.of("a").root, std::span(prompt).first(16)));
}

BOOST_AUTO_TEST_SUITE_END()
