// Key rings that merge in any order, any number of times, become one.
#include "membership/key_ring.h"

#include <rapidcheck.h>

#include <array>
#include <boost/test/unit_test.hpp>

#include "io/crypto/openssl_crypto.h"

using exa::membership::KeyRing;

namespace {

const exa::io::crypto::OpenSslCrypto crypto;

const std::vector<exa::ClusterKey>& keys() {
    static const std::vector<exa::ClusterKey> all = [] {
        std::vector<exa::ClusterKey> made;
        for (std::uint8_t i = 0; i < 6; ++i) {
            exa::KeySecret secret;
            secret.fill(i);
            made.push_back(exa::cluster_key(crypto, secret));
        }
        return made;
    }();
    return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(key_ring_property)

BOOST_AUTO_TEST_CASE(rings_of_any_history_become_one_in_any_order_of_merging) {
    const bool held = rc::check([] {
        std::array<KeyRing, 3> rings;
        for (KeyRing& ring : rings) ring.add_first(std::vector{keys()[0]});
        for (int step = *rc::gen::inRange(0, 40); step > 0; --step) {
            KeyRing& ring = rings[*rc::gen::inRange<std::size_t>(0, rings.size())];
            const auto& key = keys()[*rc::gen::inRange<std::size_t>(0, keys().size())];
            switch (*rc::gen::inRange(0, 4)) {
                case 0:
                    ring.add(key);
                    break;
                case 1:
                    ring.use(key.id);
                    break;
                case 2:
                    ring.remove(key.id);
                    break;
                default:
                    ring.merge(crypto, rings[*rc::gen::inRange<std::size_t>(0, rings.size())].state());
            }
        }
        KeyRing forwards;
        KeyRing backwards;
        for (const KeyRing& ring : rings) forwards.merge(crypto, ring.state());
        for (std::size_t i = rings.size(); i > 0; --i) backwards.merge(crypto, rings[i - 1].state());
        RC_ASSERT(forwards == backwards);
        RC_ASSERT(forwards.link_keys() == backwards.link_keys());
        RC_ASSERT(forwards.hash() == backwards.hash());
        for (const KeyRing& ring : rings) RC_ASSERT(!forwards.merge(crypto, ring.state()));
    });
    BOOST_TEST(held);
}

BOOST_AUTO_TEST_SUITE_END()
