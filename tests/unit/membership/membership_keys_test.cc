#include <boost/test/unit_test.hpp>
#include <set>

#include "driver.h"
#include "io/crypto/openssl_crypto.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using namespace exa::membership::samples;

namespace {

const io::crypto::OpenSslCrypto crypto;

ClusterKey key(std::uint8_t with) {
    KeySecret secret;
    secret.fill(with);
    return cluster_key(crypto, secret);
}

KeyRing ring(std::vector<ClusterKey> keys) {
    KeyRing ring;
    ring.add_first(keys);
    return ring;
}

wire::Sync keys_from(std::uint64_t peer, const KeyRing& ring, bool want_keys = false) {
    wire::Sync sync;
    sync.header = Driver::header(peer);
    sync.kind = wire::SyncKind::keys;
    sync.keys = ring.state();
    sync.want_keys = want_keys;
    return sync;
}

wire::Sync digest_from(std::uint64_t peer, std::uint64_t keys_hash) {
    wire::Sync sync;
    sync.header = Driver::header(peer);
    sync.kind = wire::SyncKind::digest;
    sync.last = PeerId{~std::uint64_t{0}};
    sync.keys_hash = keys_hash;
    return sync;
}

Driver sealed(std::size_t others) {
    Driver driver;
    driver.core.start_keys(crypto, ring({key(1)}));
    driver.gather(others);
    return driver;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(membership_keys)

BOOST_AUTO_TEST_CASE(a_changed_ring_is_pushed_to_several_peers_and_reported) {
    Driver driver = sealed(30);
    KeyRing changed = driver.core.keys();
    changed.add(key(2));
    driver.core.set_keys(driver.now, changed);
    driver.drain();
    std::set<PeerId> told;
    for (const SentSync& sent : driver.syncs_of(wire::SyncKind::keys)) {
        BOOST_TEST(sent.sync.keys == changed.state());
        told.insert(sent.to);
    }
    BOOST_TEST(told.size() == 9U);
    BOOST_TEST(driver.told(EventKind::keys_changed, me) == 1U);
    driver.core.set_keys(driver.now, changed);
    driver.drain();
    BOOST_TEST(driver.told(EventKind::keys_changed, me) == 1U);
}

BOOST_AUTO_TEST_CASE(a_ring_that_says_more_is_taken_and_passed_on_but_not_back) {
    Driver driver = sealed(3);
    KeyRing more = ring({key(1)});
    more.add(key(2));
    driver.give(keys_from(101, more)).value();
    BOOST_TEST(driver.core.keys() == more);
    BOOST_TEST(driver.told(EventKind::keys_changed, me) == 1U);
    BOOST_TEST(driver.syncs_of(wire::SyncKind::keys).size() == 2U);
    for (const SentSync& sent : driver.syncs_of(wire::SyncKind::keys)) BOOST_TEST(sent.to != PeerId{101});
    driver.syncs.clear();
    driver.give(keys_from(102, more, true)).value();
    BOOST_TEST(driver.syncs_of(wire::SyncKind::keys).empty());
    BOOST_TEST(driver.told(EventKind::keys_changed, me) == 1U);
}

BOOST_AUTO_TEST_CASE(a_digest_of_another_ring_starts_an_exchange_that_ends) {
    Driver driver = sealed(2);
    driver.give(digest_from(101, driver.core.keys().hash())).value();
    driver.give(digest_from(101, 0)).value();
    BOOST_TEST(driver.syncs_of(wire::SyncKind::keys).empty());
    driver.give(digest_from(101, 77)).value();
    const auto asked = driver.syncs_of(wire::SyncKind::keys);
    BOOST_TEST_REQUIRE(asked.size() == 1U);
    BOOST_TEST(asked[0].sync.want_keys);
    driver.syncs.clear();
    // One that says less is answered with ours, when it asks for it, and changes nothing.
    driver.give(keys_from(101, KeyRing(), true)).value();
    const auto answer = driver.syncs_of(wire::SyncKind::keys);
    BOOST_TEST_REQUIRE(answer.size() == 1U);
    BOOST_TEST(!answer[0].sync.want_keys);
    BOOST_TEST(answer[0].sync.keys == ring({key(1)}).state());
    BOOST_TEST(driver.told(EventKind::keys_changed, me) == 0U);
}

BOOST_AUTO_TEST_CASE(our_own_digests_carry_the_hash_of_the_ring_once) {
    Driver driver = sealed(2);
    driver.run_for(std::chrono::seconds{30}, true);
    const auto digests = driver.syncs_of(wire::SyncKind::digest);
    BOOST_TEST(!digests.empty());
    for (const SentSync& sent : digests) BOOST_TEST(sent.sync.keys_hash == driver.core.keys().hash());
}

BOOST_AUTO_TEST_CASE(a_peer_that_is_not_sealed_takes_and_sends_no_keys) {
    Driver driver;
    driver.gather(2);
    driver.give(keys_from(101, ring({key(1)}), true)).value();
    driver.give(digest_from(101, 77)).value();
    BOOST_TEST(driver.syncs_of(wire::SyncKind::keys).empty());
    BOOST_TEST(driver.core.keys().empty());
    BOOST_TEST(driver.core.counters().refused == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
