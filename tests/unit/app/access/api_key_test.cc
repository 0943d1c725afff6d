#include "app/access/api_key.h"

#include <boost/test/unit_test.hpp>

#include "io/crypto/openssl_crypto.h"
#include "support/print.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::access;

namespace {

const io::crypto::OpenSslCrypto crypto;

ApiKey sample(std::uint8_t with = 0xab) {
    ApiKey key{{0x1a2b3c4d}, {}};
    key.secret.fill(with);
    return key;
}

constexpr std::array<std::uint8_t, 16> salt{1, 2, 3};

}  // namespace

BOOST_AUTO_TEST_SUITE(api_key)

BOOST_AUTO_TEST_CASE(a_key_reads_as_it_was_written) {
    const std::string text = format_api_key(sample());
    BOOST_TEST(text.starts_with("sk-exa-1a2b3c4d-abab"));
    BOOST_TEST(text.size() == 80U);
    const auto read = parse_api_key(text);
    BOOST_TEST_REQUIRE(read.has_value());
    BOOST_TEST(read->id == sample().id);
    BOOST_TEST(read->secret == sample().secret);
}

BOOST_AUTO_TEST_CASE(what_is_no_key_is_none_and_does_no_harm) {
    const std::string good = format_api_key(sample());
    for (std::size_t size = 0; size < good.size(); ++size) BOOST_TEST(!parse_api_key(good.substr(0, size)).has_value());
    BOOST_TEST(!parse_api_key(good + "0").has_value());
    BOOST_TEST(!parse_api_key("sk-exa-1a2b3c4d_" + good.substr(16)).has_value());
    BOOST_TEST(!parse_api_key(std::string(80, '\xff')).has_value());
    BOOST_TEST(!parse_api_key("sk-proj-" + good.substr(8)).has_value());
}

BOOST_AUTO_TEST_CASE(only_the_key_that_was_hashed_matches) {
    const ApiKeyHash hash = hash_api_key(crypto, sample(), salt);
    BOOST_TEST(matches(crypto, hash, sample()));
    ApiKey other = sample();
    other.secret.back() ^= 1;
    BOOST_TEST(!matches(crypto, hash, other));
    ApiKeyHash salted_otherwise = hash;
    salted_otherwise.salt[0] ^= 1;
    BOOST_TEST(!matches(crypto, salted_otherwise, sample()));
}

BOOST_AUTO_TEST_CASE(a_hash_reads_as_it_was_written_and_tells_nothing_of_the_key) {
    const ApiKeyHash hash = hash_api_key(crypto, sample(), salt);
    const std::string text = format_api_key_hash(hash);
    BOOST_TEST(text.starts_with("sha256:01020300"));
    BOOST_TEST(text.find("abab") == text.npos);
    BOOST_TEST(parse_api_key_hash(text) == hash);
    BOOST_TEST(!parse_api_key_hash(text.substr(1)).has_value());
    BOOST_TEST(!parse_api_key_hash(text.substr(0, text.size() - 2)).has_value());
    BOOST_TEST(!parse_api_key_hash(format_api_key(sample())).has_value());
}

BOOST_AUTO_TEST_CASE(ids_are_eight_digits_in_lower_case) {
    BOOST_TEST(to_string(ApiKeyId{0xa}) == "0000000a");
    BOOST_TEST(parse_api_key_id("0000000a") == ApiKeyId{0xa});
    for (const char* text : {"", "a", "0000000A", "0000000g", "00000000a"})
        BOOST_TEST(!parse_api_key_id(text).has_value(), text);
}

BOOST_AUTO_TEST_SUITE_END()
