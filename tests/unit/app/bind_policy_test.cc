#include "app/bind_policy.h"

#include <boost/test/unit_test.hpp>
#include <string>

#include "app/shared/errc.h"
#include "io/crypto/openssl_crypto.h"
#include "membership/key_file.h"
#include "support/print.h"

BOOST_AUTO_TEST_SUITE(bind_policy)

namespace {

using namespace exa;
using app::Addresses;
using app::check_client_access;
using app::check_encryption;
using app::config::PeerConfig;

Endpoint at(const std::string& text) {
    return *parse_endpoint(text);
}

Addresses listening(const std::string& host) {
    return {at(host + ":1"), at(host + ":2"), at(host + ":3")};
}

membership::KeyRing sealed_ring() {
    const io::crypto::OpenSslCrypto crypto;
    KeySecret secret;
    secret.fill(1);
    membership::KeyRing ring;
    ring.add_first(membership::parse_key_file(crypto, membership::format_key(secret)).value());
    return ring;
}

}  // namespace

BOOST_AUTO_TEST_CASE(peers_talk_in_plaintext_on_loopback_only) {
    const PeerConfig config;
    BOOST_TEST(check_encryption(config, {}, listening("127.0.0.9")).has_value());
    BOOST_TEST(check_encryption(config, {}, listening("[::1]")).has_value());
    const auto refused = check_encryption(config, {}, listening("10.0.0.1"));
    BOOST_REQUIRE(!refused.has_value());
    BOOST_TEST(refused.error().code == app::shared::errc::usage);
    BOOST_TEST(refused.error().detail.find("listen.gossip: 10.0.0.1:1") == 0u);
    // One that others can reach is enough.
    Addresses mixed = listening("127.0.0.1");
    mixed.link = at("[2001:db8::1]:2");
    BOOST_TEST(check_encryption(config, {}, mixed).error().detail.find("listen.link") == 0u);
}

BOOST_AUTO_TEST_CASE(plaintext_beyond_loopback_needs_a_key_or_the_operators_word) {
    PeerConfig config;
    BOOST_TEST(check_encryption(config, sealed_ring(), listening("10.0.0.1")).has_value());
    config.security.allow_plaintext = true;
    BOOST_TEST(check_encryption(config, {}, listening("10.0.0.1")).has_value());
    BOOST_TEST(!check_encryption(config, sealed_ring(), listening("127.0.0.1")).has_value());
}

BOOST_AUTO_TEST_CASE(door_beyond_loopback_needs_api_keys_or_the_operators_word) {
    PeerConfig config;
    BOOST_TEST(check_client_access(config, "listen.http", at("127.0.0.1:80")).has_value());
    const auto refused = check_client_access(config, "kv.resp_listen", at("0.0.0.0:80"));
    BOOST_REQUIRE(!refused.has_value());
    BOOST_TEST(refused.error().detail.find("kv.resp_listen: 0.0.0.0:80") == 0u);
    config.security.allow_anonymous = true;
    BOOST_TEST(check_client_access(config, "listen.http", at("0.0.0.0:80")).has_value());
    config.security.allow_anonymous = false;
    config.security.api_keys_file = "keys.toml";
    BOOST_TEST(check_client_access(config, "listen.http", at("0.0.0.0:80")).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
