#include "sim/kv/chats.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "io/crypto/openssl_crypto.h"

using namespace exa;
using namespace exa::sim;

namespace {

// Keys of the first segment of many chats that all begin alike.
std::set<kv::SegmentKey> first_keys(Mutant mutant) {
    const io::OpenSslCrypto crypto;
    Chats chats(crypto, {.chats = 60, .tenants = 3, .models = 2, .shared = 1}, mutant, Rng(1));
    std::set<kv::SegmentKey> keys;
    for (std::uint32_t chat = 0; chat < 60; ++chat) {
        chats.grow(chat, 1);
        keys.insert(chats.chat(chat).segments[0].key);
    }
    return keys;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(chats)

BOOST_AUTO_TEST_CASE(chats_that_begin_alike_share_keys_within_a_model_and_a_tenant) {
    BOOST_TEST(first_keys(Mutant::none).size() == 6U);
    BOOST_TEST(first_keys(Mutant::tenants_share_salt).size() == 2U);
    BOOST_TEST(first_keys(Mutant::models_share_keys).size() == 3U);
}

BOOST_AUTO_TEST_CASE(a_segment_holds_what_its_tokens_make_of_it) {
    const io::OpenSslCrypto crypto;
    const kv::SegmentSealer sealer(crypto, as_bytes("secret"));
    Chats chats(crypto, {.chats = 1}, Mutant::none, Rng(1));
    chats.grow(0, 5);
    for (const Chats::Segment& segment : chats.chat(0).segments) {
        const auto sealed = chats.make(sealer, segment, 7);
        BOOST_TEST(sealer.verify(segment.key, sealed->view()).has_value());
        BOOST_TEST((Chats::read(*sealed) == segment.content));
    }
}

BOOST_AUTO_TEST_SUITE_END()
