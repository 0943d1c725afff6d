#include "sim/kv/conversations.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "io/crypto/openssl_crypto.h"
#include "support/print.h"

using namespace exa;
using namespace exa::sim;

namespace {

// Keys of the first segment of many conversations that all begin alike.
std::set<kv::SegmentKey> first_keys(Mutant mutant) {
    const io::crypto::OpenSslCrypto crypto;
    Conversations conversations(crypto, {.conversations = 60, .tenants = 3, .models = 2, .shared = 1}, mutant, Rng(1));
    std::set<kv::SegmentKey> keys;
    for (std::uint32_t conversation = 0; conversation < 60; ++conversation) {
        conversations.grow(conversation, 1);
        keys.insert(conversations.conversation(conversation).segments[0].key);
    }
    return keys;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(conversations)

BOOST_AUTO_TEST_CASE(conversations_that_begin_alike_share_keys_within_a_model_and_a_tenant) {
    BOOST_TEST(first_keys(Mutant::none).size() == 6U);
    BOOST_TEST(first_keys(Mutant::tenants_share_salt).size() == 2U);
    BOOST_TEST(first_keys(Mutant::models_share_keys).size() == 3U);
}

BOOST_AUTO_TEST_CASE(a_segment_holds_what_its_tokens_make_of_it) {
    const io::crypto::OpenSslCrypto crypto;
    const kv::SegmentSealer sealer(crypto, as_bytes("secret"));
    Conversations conversations(crypto, {.conversations = 1}, Mutant::none, Rng(1));
    conversations.grow(0, 5);
    for (const Conversations::Segment& segment : conversations.conversation(0).segments) {
        const auto sealed = conversations.make(sealer, segment, 7);
        BOOST_TEST(sealer.verify(segment.key, sealed->view()).has_value());
        BOOST_TEST(Conversations::read(*sealed) == segment.content);
    }
}

BOOST_AUTO_TEST_SUITE_END()
