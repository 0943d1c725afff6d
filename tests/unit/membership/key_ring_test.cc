#include "membership/key_ring.h"

#include <boost/test/unit_test.hpp>

#include "io/crypto/openssl_crypto.h"
#include "support/print.h"

using exa::ClusterKey;
using exa::KeyId;
using exa::membership::KeyRing;

namespace {

const exa::io::crypto::OpenSslCrypto crypto;

ClusterKey key(std::uint8_t with) {
    exa::KeySecret secret;
    secret.fill(with);
    return exa::cluster_key(crypto, secret);
}

KeyRing ring(std::vector<ClusterKey> first) {
    KeyRing ring;
    ring.add_first(first);
    return ring;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(key_ring)

BOOST_AUTO_TEST_CASE(a_ring_without_keys_is_not_sealed) {
    const KeyRing none;
    BOOST_TEST(none.empty());
    BOOST_TEST(none.primary() == nullptr);
    BOOST_TEST(none.hash() == 0U);
}

BOOST_AUTO_TEST_CASE(one_file_gives_one_ring_on_every_peer) {
    BOOST_TEST(ring({key(1), key(2)}) == ring({key(1), key(2)}));
    BOOST_TEST(ring({key(1), key(2)}).primary()->id == key(1).id);
    BOOST_TEST(ring({key(1), key(2)}).hash() != ring({key(2), key(1)}).hash());
}

BOOST_AUTO_TEST_CASE(files_in_another_order_agree_once_merged) {
    KeyRing a = ring({key(1), key(2)});
    KeyRing b = ring({key(2), key(1)});
    a.merge(crypto, b.state());
    b.merge(crypto, a.state());
    BOOST_TEST(a == b);
    BOOST_TEST(a.primary()->id == b.primary()->id);
}

BOOST_AUTO_TEST_CASE(an_added_key_opens_and_does_not_seal_until_it_is_used) {
    KeyRing a = ring({key(1)});
    BOOST_TEST(a.add(key(2)));
    BOOST_TEST(a.find(key(2).id) != nullptr);
    BOOST_TEST(a.primary()->id == key(1).id);
    BOOST_TEST(a.use(key(2).id));
    BOOST_TEST(a.primary()->id == key(2).id);
}

BOOST_AUTO_TEST_CASE(what_is_so_already_is_no_change) {
    KeyRing a = ring({key(1)});
    const auto hash = a.hash();
    BOOST_TEST(!a.add(key(1)));
    BOOST_TEST(!a.use(key(1).id));
    BOOST_TEST(!a.use(key(9).id));
    BOOST_TEST(!a.remove(key(9).id));
    BOOST_TEST(a.hash() == hash);
}

BOOST_AUTO_TEST_CASE(a_removed_key_leaves_no_secret_and_does_not_come_back_from_a_file_or_a_sleeper) {
    const KeyRing sleeper = ring({key(1), key(2)});
    KeyRing a = sleeper;
    BOOST_TEST(a.use(key(2).id));
    BOOST_TEST(a.remove(key(1).id));
    for (const auto& entry : a.state().entries) BOOST_TEST(entry.secret.has_value() == (entry.id == key(2).id));
    a.add_first(std::vector{key(1)});
    BOOST_TEST(!a.merge(crypto, sleeper.state()));
    BOOST_TEST(a.find(key(1).id) == nullptr);
    KeyRing b = sleeper;
    BOOST_TEST(b.merge(crypto, a.state()));
    BOOST_TEST(b == a);
}

BOOST_AUTO_TEST_CASE(a_removed_key_that_is_added_again_is_back) {
    KeyRing a = ring({key(1), key(2)});
    const KeyRing before = a;
    a.remove(key(2).id);
    BOOST_TEST(a.add(key(2)));
    KeyRing b = before;
    b.merge(crypto, a.state());
    BOOST_TEST(b.find(key(2).id) != nullptr);
}

BOOST_AUTO_TEST_CASE(of_a_removal_and_an_addition_at_once_the_addition_wins) {
    KeyRing a = ring({key(1)});
    KeyRing b = a;
    a.add(key(2));
    a.remove(key(2).id);
    // The same stamp as the removal's.
    b.add(key(3));
    b.add(key(2));
    const KeyRing was = a;
    a.merge(crypto, b.state());
    b.merge(crypto, was.state());
    BOOST_TEST(a == b);
    BOOST_TEST(a.find(key(2).id) != nullptr);
}

BOOST_AUTO_TEST_CASE(a_primary_that_somebody_removed_gives_way_to_the_newest_key) {
    KeyRing a = ring({key(1)});
    a.add(key(2));
    a.add(key(3));
    KeyRing b = a;
    a.use(key(2).id);
    b.remove(key(2).id);
    a.merge(crypto, b.state());
    b.merge(crypto, a.state());
    BOOST_TEST(a.primary()->id == key(3).id);
    BOOST_TEST(b.primary()->id == key(3).id);
}

BOOST_AUTO_TEST_CASE(a_secret_under_another_ones_id_is_left_out) {
    KeyRing a = ring({key(1)});
    exa::wire::Keys forged;
    forged.entries = {{key(2).id, 5, key(3).secret}};
    BOOST_TEST(!a.merge(crypto, forged));
    BOOST_TEST(a.find(key(2).id) == nullptr);
}

BOOST_AUTO_TEST_CASE(marks_of_removed_keys_are_bounded_and_the_latest_stay) {
    KeyRing a = ring({key(0)});
    for (std::uint8_t i = 1; i < 60; ++i) {
        a.add(key(i));
        a.remove(key(i).id);
    }
    BOOST_TEST(a.state().entries.size() == 1 + exa::wire::keys_removed_max);
    BOOST_TEST(a.primary()->id == key(0).id);
    a.add_first(std::vector{key(59)});
    BOOST_TEST(a.find(key(59).id) == nullptr);
}

BOOST_AUTO_TEST_CASE(a_stored_ring_is_the_same_when_it_is_read_again) {
    KeyRing a = ring({key(1), key(2)});
    a.use(key(2).id);
    a.remove(key(1).id);
    const KeyRing again(crypto, a.state());
    BOOST_TEST(again == a);
    BOOST_TEST(again.link_keys() == a.link_keys());
    BOOST_TEST(a.link_keys().primary == key(2).id);
    BOOST_TEST(a.link_keys().keys.size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
