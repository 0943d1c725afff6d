#include "kv/segment_key.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "io/crypto/openssl_crypto.h"
#include "support/print.h"

using namespace exa;
using namespace exa::kv;

namespace {

const io::crypto::OpenSslCrypto crypto;

CacheFingerprint some_fingerprint() {
    CacheFingerprint fingerprint;
    for (std::size_t i = 0; i < 32; ++i) fingerprint.weights[i] = static_cast<std::uint8_t>(i);
    fingerprint.kv_dtype = "f16";
    fingerprint.layout = "layer-major";
    fingerprint.rope = {64, 100'000.0, "", 1.0};
    fingerprint.version = 1;
    return fingerprint;
}

std::vector<std::uint32_t> some_tokens(std::uint32_t count) {
    std::vector<std::uint32_t> tokens;
    for (std::uint32_t i = 0; i < count; ++i) tokens.push_back(i * 769 + 70'000);
    return tokens;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(segment_key)

// Stored caches are found by these: a change makes every one of them a miss.
BOOST_AUTO_TEST_CASE(root_and_chain_are_the_wire_contract) {
    const SegmentKey root = root_key(crypto, some_fingerprint(), as_bytes("salt"));
    BOOST_TEST(to_string(root) == "4401da34bb3fc6d3b78aa73d15cb9180600a65065f029c3ba48f53c8dadf497d");
    const auto chain = segment_chain(crypto, root, some_tokens(130), 64);
    BOOST_TEST_REQUIRE(chain.size() == 2u);
    BOOST_TEST(to_string(chain[0]) == "20b8db6b19758c200c1c1ab64552fa9c9e2a335adb786e40ae81a5ad45475463");
    BOOST_TEST(to_string(chain[1]) == "03b4aeba22eb520852cd029c729c17b6a9a410ce4b267c64df304a2b6a3ce283");
    BOOST_TEST(placement(chain[1]) == 599800234787124227u);
}

BOOST_AUTO_TEST_CASE(every_part_of_the_fingerprint_and_the_salt_counts) {
    std::set<SegmentKey> roots{root_key(crypto, some_fingerprint(), as_bytes("salt"))};
    const auto add = [&](auto change) {
        CacheFingerprint fingerprint = some_fingerprint();
        change(fingerprint);
        roots.insert(root_key(crypto, fingerprint, as_bytes("salt")));
    };
    add([](CacheFingerprint& f) { f.weights[31] ^= 1; });
    add([](CacheFingerprint& f) { f.kv_dtype = "f8"; });
    add([](CacheFingerprint& f) { f.layout = "token-major"; });
    add([](CacheFingerprint& f) { f.kv_dtype = "f16l", f.layout = "ayer-major"; });
    add([](CacheFingerprint& f) { f.rope.dimensions = 32; });
    add([](CacheFingerprint& f) { f.rope.base = 10'000.0; });
    add([](CacheFingerprint& f) { f.rope.scaling = "linear"; });
    add([](CacheFingerprint& f) { f.rope.factor = 2.0; });
    add([](CacheFingerprint& f) { f.version = 2; });
    roots.insert(root_key(crypto, some_fingerprint(), as_bytes("pepper")));
    roots.insert(root_key(crypto, some_fingerprint(), {}));
    BOOST_TEST(roots.size() == 12u);
}

BOOST_AUTO_TEST_CASE(a_rest_shorter_than_a_segment_has_no_key) {
    const SegmentKey root = root_key(crypto, some_fingerprint(), {});
    BOOST_TEST(segment_chain(crypto, root, {}, 64).empty());
    BOOST_TEST(segment_chain(crypto, root, some_tokens(63), 64).empty());
    BOOST_TEST(segment_chain(crypto, root, some_tokens(64), 64).size() == 1u);
    BOOST_TEST(segment_chain(crypto, root, some_tokens(191), 64).size() == 2u);
}

BOOST_AUTO_TEST_CASE(equal_beginnings_share_keys_and_nothing_behind_a_difference_does) {
    const SegmentKey root = root_key(crypto, some_fingerprint(), {});
    const auto tokens = some_tokens(256);
    const auto chain = segment_chain(crypto, root, tokens, 64);
    auto changed = tokens;
    changed[70] ^= 1;
    const auto other = segment_chain(crypto, root, changed, 64);
    BOOST_TEST(other[0] == chain[0]);
    for (std::size_t i = 1; i < 4; ++i) BOOST_TEST(other[i] != chain[i]);
    const auto prefix = segment_chain(crypto, root, std::span(tokens).first(128), 64);
    BOOST_TEST(prefix[1] == chain[1]);
}

BOOST_AUTO_TEST_CASE(equal_tokens_at_different_places_have_different_keys) {
    const SegmentKey root = root_key(crypto, some_fingerprint(), {});
    const std::vector<std::uint32_t> same(256, 5);
    const auto chain = segment_chain(crypto, root, same, 64);
    BOOST_TEST(std::set<SegmentKey>(chain.begin(), chain.end()).size() == 4u);
}

BOOST_AUTO_TEST_CASE(text_survives_and_malformed_text_is_refused) {
    const SegmentKey key = root_key(crypto, some_fingerprint(), {});
    BOOST_TEST(parse_segment_key(to_string(key)) == key);
    for (const std::string& text :
         {std::string(), std::string(63, 'a'), std::string(65, 'a'), std::string(64, 'g'), std::string(100'000, '0')})
        BOOST_TEST(!parse_segment_key(text).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
