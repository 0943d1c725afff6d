#include "membership/key_exchange.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "io/crypto/openssl_crypto.h"
#include "parts.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using namespace exa::membership::samples;

namespace {

const io::crypto::OpenSslCrypto crypto;

KeyRing ring(std::initializer_list<std::uint8_t> secrets) {
    std::vector<ClusterKey> keys;
    for (const std::uint8_t with : secrets) {
        KeySecret secret;
        secret.fill(with);
        keys.push_back(cluster_key(crypto, secret));
    }
    KeyRing ring;
    ring.add_first(keys);
    return ring;
}

wire::Sync keys_from(std::uint64_t peer, const KeyRing& ring, bool want_keys) {
    wire::Sync sync;
    sync.header.sender = PeerId{peer};
    sync.kind = wire::SyncKind::keys;
    sync.keys = ring.state();
    sync.want_keys = want_keys;
    return sync;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(key_exchange)

BOOST_AUTO_TEST_CASE(a_change_is_reported_and_pushed_to_some_of_the_others_once_each) {
    Bench bench(40);
    KeyExchange keys;
    keys.start(crypto, ring({1}));
    const Effects effects = keys.set(bench.step(), ring({1, 2}));
    BOOST_TEST(effects.notices == (std::vector{Notice{EventKind::keys_changed, me}}));
    std::set<PeerId> told;
    for (const SyncOut& out : effects.syncs) {
        BOOST_TEST(out.sync.keys == ring({1, 2}).state());
        BOOST_TEST(told.insert(out.to).second);
    }
    BOOST_TEST(told.size() == 10U);
    BOOST_TEST(keys.set(bench.step(), ring({1, 2})).notices.empty());
}

BOOST_AUTO_TEST_CASE(rings_that_differ_are_exchanged_and_equal_ones_are_not) {
    KeyExchange keys;
    keys.start(crypto, ring({1}));
    wire::Sync digest;
    digest.header.sender = PeerId{101};
    digest.keys_hash = keys.hash();
    BOOST_TEST(keys.compare(digest).empty());
    digest.keys_hash = ring({1, 2}).hash();
    const std::vector<SyncOut> out = keys.compare(digest);
    BOOST_TEST_REQUIRE(out.size() == 1U);
    BOOST_TEST(out[0].to == PeerId{101});
    BOOST_TEST(out[0].sync.want_keys);
    digest.keys_hash = 0;
    BOOST_TEST(keys.compare(digest).empty());
}

BOOST_AUTO_TEST_CASE(what_another_ring_adds_is_merged_and_pushed_on_but_not_back) {
    Bench bench(5);
    KeyExchange keys;
    keys.start(crypto, ring({1}));
    const auto effects = keys.merge(bench.step(), keys_from(101, ring({1, 2}), false));
    BOOST_REQUIRE(effects.has_value());
    BOOST_TEST(effects->notices == (std::vector{Notice{EventKind::keys_changed, me}}));
    BOOST_TEST(effects->syncs.size() == 4U);
    for (const SyncOut& out : effects->syncs) BOOST_TEST(out.to != PeerId{101});
    BOOST_TEST(keys.ring().installed().size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_ring_that_says_less_is_answered_when_it_asks_and_changes_nothing) {
    Bench bench(5);
    KeyExchange keys;
    keys.start(crypto, ring({1, 2}));
    for (const bool asks : {true, false}) {
        const auto effects = keys.merge(bench.step(), keys_from(101, ring({1}), asks));
        BOOST_REQUIRE(effects.has_value());
        BOOST_TEST(effects->notices.empty());
        BOOST_TEST(effects->syncs.size() == (asks ? 1U : 0U));
    }
}

BOOST_AUTO_TEST_CASE(a_plaintext_cluster_takes_no_keys_and_asks_for_none) {
    Bench bench(5);
    KeyExchange keys;
    BOOST_TEST(keys.hash() == 0U);
    BOOST_TEST(!keys.merge(bench.step(), keys_from(101, ring({1}), true)).has_value());
    wire::Sync digest;
    digest.keys_hash = 5;
    BOOST_TEST(keys.compare(digest).empty());
}

BOOST_AUTO_TEST_SUITE_END()
