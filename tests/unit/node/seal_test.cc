#include "node/seal.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>
#include <vector>

#include "io/crypto/openssl_crypto.h"
#include "support/print.h"
#include "wire/checksum.h"
#include "wire/errc.h"

using namespace exa;
using namespace std::chrono_literals;
using membership::EventKind;
using membership::KeyRing;
using node::Seal;

namespace {

const io::crypto::OpenSslCrypto crypto;
const ClusterId cluster = cluster_id("sealed");
const Endpoint somewhere = *parse_endpoint("10.0.0.9:7946");
const Bytes plain = {0x10, 1, 2, 3};
const TimePoint now{1h};

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

Seal seal_of(std::uint64_t peer, std::vector<ClusterKey> keys) {
    Seal seal(keys.empty() ? nullptr : &crypto, cluster, PeerId{peer}, Generation{1}, 7);
    if (!keys.empty()) seal.set_keys(ring(keys), ring(keys));
    return seal;
}

std::error_code error_of(Seal& seal, ByteView bytes, TimePoint at = now) {
    const auto opened = seal.open(at, somewhere, bytes);
    return opened ? std::error_code{} : opened.error().code;
}

std::set<KeyId> keys_used(Seal& seal, PeerId to) {
    std::set<KeyId> used;
    for (int i = 0; i < 40; ++i) used.insert(wire::decode_seal_header(seal.seal(to, plain).value()).value().key);
    return used;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(node_seal)

BOOST_AUTO_TEST_CASE(without_keys_packets_pass_as_they_are) {
    Seal seal = seal_of(1, {});
    Bytes sent = seal.seal(PeerId{2}, plain).value();
    BOOST_TEST(sent.size() == plain.size() + wire::checksum_bytes);
    const auto opened = seal.open(now, somewhere, sent);
    BOOST_TEST(opened.value().data() == sent.data());
    BOOST_TEST(opened.value().size() == plain.size());
    sent[0] ^= 1;
    BOOST_TEST(error_of(seal, sent) == wire::errc::damaged);
    BOOST_TEST(seal.counters().damaged == 1U);
    BOOST_TEST(!seal.take_alarm().has_value());
}

BOOST_AUTO_TEST_CASE(a_sealed_node_drops_plain_packets_and_an_unsealed_one_sealed_packets) {
    Seal sealed = seal_of(1, {key(1)});
    Seal unsealed = seal_of(2, {});
    BOOST_TEST(error_of(sealed, plain) == wire::errc::not_sealed);
    BOOST_TEST(sealed.counters().plain == 1U);
    BOOST_TEST(sealed.take_alarm() == EventKind::heard_plaintext);
    BOOST_TEST(error_of(unsealed, sealed.seal({}, plain).value()) == wire::errc::sealed);
    BOOST_TEST(unsealed.counters().sealed == 1U);
    BOOST_TEST(unsealed.take_alarm() == EventKind::heard_encrypted);
}

BOOST_AUTO_TEST_CASE(a_key_that_is_not_held_is_an_alarm_that_names_it_and_damage_is_none) {
    Seal one = seal_of(1, {key(1)});
    Seal other = seal_of(2, {key(2)});
    BOOST_TEST(error_of(one, other.seal({}, plain).value()) == wire::errc::unknown_key);
    BOOST_TEST(one.take_alarm() == EventKind::heard_foreign_key);
    const auto alarms = one.alarms(now);
    BOOST_TEST_REQUIRE(alarms.size() == 1U);
    BOOST_TEST(alarms[0].key == key(2).id);
    BOOST_TEST(alarms[0].from == somewhere);
    Bytes damaged = seal_of(3, {key(1)}).seal({}, plain).value();
    damaged.back() ^= 1;
    BOOST_TEST(error_of(one, damaged) == wire::errc::not_authentic);
    BOOST_TEST(one.counters().not_authentic == 1U);
    BOOST_TEST(!one.take_alarm().has_value());
}

BOOST_AUTO_TEST_CASE(an_alarm_is_told_once_until_it_was_quiet_for_long) {
    Seal seal = seal_of(1, {key(1)});
    for (int i = 0; i < 100; ++i) {
        BOOST_TEST(error_of(seal, plain, now + i * 1s) == wire::errc::not_sealed);
        BOOST_TEST(seal.take_alarm().has_value() == (i == 0));
    }
    BOOST_TEST(seal.alarms(now + 100s).front().packets == 100U);
    BOOST_TEST(seal.alarms(now + 99s + Seal::quiet).empty());
    BOOST_TEST(error_of(seal, plain, now + 99s + Seal::quiet) == wire::errc::not_sealed);
    BOOST_TEST(seal.take_alarm().has_value());
}

BOOST_AUTO_TEST_CASE(peers_that_keep_up_are_sealed_to_with_the_primary_alone) {
    Seal one = seal_of(1, {key(1), key(2)});
    BOOST_TEST(keys_used(one, PeerId{2}) == std::set{key(1).id});
    Seal two = seal_of(2, {key(1), key(2)});
    BOOST_TEST(!error_of(one, two.seal(PeerId{1}, plain).value()));
    BOOST_TEST(keys_used(one, PeerId{2}) == std::set{key(1).id});
}

BOOST_AUTO_TEST_CASE(a_peer_that_speaks_under_another_key_gets_both_until_it_follows) {
    Seal one = seal_of(1, {key(2), key(1)});
    Seal behind = seal_of(2, {key(1)});
    BOOST_TEST(!error_of(one, behind.seal(PeerId{1}, plain).value()));
    BOOST_TEST(keys_used(one, PeerId{2}) == (std::set{key(1).id, key(2).id}));
    behind.set_keys(ring({key(2), key(1)}), ring({key(2), key(1)}));
    BOOST_TEST(!error_of(one, behind.seal(PeerId{1}, plain).value()));
    BOOST_TEST(keys_used(one, PeerId{2}) == std::set{key(2).id});
}

BOOST_AUTO_TEST_CASE(strangers_get_every_key_that_is_installed) {
    Seal one = seal_of(1, {key(1), key(2), key(3)});
    BOOST_TEST(keys_used(one, PeerId{}) == (std::set{key(1).id, key(2).id, key(3).id}));
}

BOOST_AUTO_TEST_CASE(a_new_primary_seals_only_once_it_is_stored_and_a_removed_one_no_more) {
    Seal one = seal_of(1, {key(1), key(2)});
    const KeyRing stored = ring({key(1), key(2)});
    KeyRing changed = stored;
    changed.use(key(2).id);
    one.set_keys(changed, stored);
    BOOST_TEST(keys_used(one, PeerId{2}) == std::set{key(1).id});
    one.set_keys(changed, changed);
    BOOST_TEST(keys_used(one, PeerId{2}) == std::set{key(2).id});
    KeyRing less = changed;
    less.remove(key(1).id);
    one.set_keys(less, stored);
    BOOST_TEST(keys_used(one, PeerId{2}) == std::set{key(2).id});
    BOOST_TEST(error_of(one, seal_of(3, {key(1)}).seal({}, plain).value()) == wire::errc::unknown_key);
}

BOOST_AUTO_TEST_SUITE_END()
