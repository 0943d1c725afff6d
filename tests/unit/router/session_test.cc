#include "router/session.h"

#include <boost/test/unit_test.hpp>

#include "base/rng.h"
#include "support/print.h"
#include "unit/router/cluster.h"

using namespace exa;
using namespace exa::router;
using namespace exa::router::test;

namespace {

const ring::PoolKey pool{"m", "chat", "", "1"};
constexpr std::uint64_t position = 0x0123456789abcdef;

WallTime later(std::int64_t seconds) {
    return {wall_start.unix_us + seconds * 1'000'000};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(session)

// Tokens outlive a rolling upgrade: neighbouring versions must read each other's.
BOOST_AUTO_TEST_CASE(token_and_client_position_are_the_wire_contract) {
    BOOST_TEST(test_tokens().mint(position, wall_start, "acme", pool) ==
               "exa-0123456789abcdef6553f100089b083fe83a1a98");
    BOOST_TEST(test_tokens().position_of_client_id("acme", "user-1") == 12368073831464122376u);
}

BOOST_AUTO_TEST_CASE(a_token_says_its_position_in_its_first_digits) {
    const std::string token = test_tokens().mint(position, wall_start, "acme", pool);
    BOOST_TEST(token.size() == token_chars);
    BOOST_TEST(token.starts_with("exa-0123456789abcdef"));
    BOOST_TEST(test_tokens().verify(token, wall_start, "acme", pool) == position);
}

BOOST_AUTO_TEST_CASE(any_changed_character_unmakes_a_token) {
    const std::string token = test_tokens().mint(position, wall_start, "acme", pool);
    for (std::size_t i = 0; i < token.size(); ++i) {
        std::string forged = token;
        forged[i] = forged[i] == '0' ? '1' : '0';
        BOOST_TEST(!test_tokens().verify(forged, wall_start, "acme", pool).has_value());
    }
}

BOOST_AUTO_TEST_CASE(texts_that_are_no_tokens_do_not_verify) {
    const std::string token = test_tokens().mint(position, wall_start, "acme", pool);
    for (const std::string& text :
         {std::string(), std::string("exa-"), token.substr(0, 43), token + "0", token.substr(4),
          "EXA" + token.substr(3), "exa-" + std::string(40, 'g'), std::string(44, '\0'), std::string(100'000, 'a')})
        BOOST_TEST(!test_tokens().verify(text, wall_start, "acme", pool).has_value());
}

BOOST_AUTO_TEST_CASE(random_bytes_never_verify) {
    Rng rng(1);
    for (int round = 0; round < 2'000; ++round) {
        std::string text = "exa-";
        for (int i = 0; i < 40; ++i) text.push_back("0123456789abcdef"[rng.below(16)]);
        BOOST_TEST(!test_tokens().verify(text, wall_start, "acme", pool).has_value());
    }
}

BOOST_AUTO_TEST_CASE(a_token_of_another_tenant_or_pool_is_foreign) {
    const std::string token = test_tokens().mint(position, wall_start, "acme", pool);
    BOOST_TEST(!test_tokens().verify(token, wall_start, "acm", pool).has_value());
    BOOST_TEST(!test_tokens().verify(token, wall_start, "", pool).has_value());
    for (auto field :
         {&ring::PoolKey::model, &ring::PoolKey::role, &ring::PoolKey::tenant_pool, &ring::PoolKey::version}) {
        ring::PoolKey other = pool;
        other.*field += "x";
        BOOST_TEST(!test_tokens().verify(token, wall_start, "acme", other).has_value());
    }
    const ring::PoolKey shifted{"mchat", "", "", "1"};
    const std::string of_shifted = test_tokens().mint(position, wall_start, "acme", shifted);
    BOOST_TEST(!test_tokens().verify(of_shifted, wall_start, "acme", pool).has_value());
}

BOOST_AUTO_TEST_CASE(a_token_of_another_cluster_is_foreign) {
    const io::crypto::OpenSslCrypto crypto;
    const SessionTokens other(crypto, as_bytes("another root secret"));
    BOOST_TEST(!other.verify(test_tokens().mint(position, wall_start, "", pool), wall_start, "", pool).has_value());
    BOOST_TEST(other.position_of_client_id("", "a") != test_tokens().position_of_client_id("", "a"));
}

BOOST_AUTO_TEST_CASE(a_token_holds_two_hours_and_no_more_than_five_minutes_ahead) {
    const std::string token = test_tokens().mint(position, wall_start, "acme", pool);
    BOOST_TEST(test_tokens().verify(token, later(7'200), "acme", pool).has_value());
    BOOST_TEST(!test_tokens().verify(token, later(7'201), "acme", pool).has_value());
    BOOST_TEST(test_tokens().verify(token, later(-300), "acme", pool).has_value());
    BOOST_TEST(!test_tokens().verify(token, later(-301), "acme", pool).has_value());
    BOOST_TEST(!test_tokens().verify(token, WallTime{0}, "acme", pool).has_value());
}

BOOST_AUTO_TEST_CASE(client_positions_tell_tenants_and_boundaries_apart) {
    const auto& tokens = test_tokens();
    BOOST_TEST(tokens.position_of_client_id("a", "bc") != tokens.position_of_client_id("ab", "c"));
    BOOST_TEST(tokens.position_of_client_id("a", "x") != tokens.position_of_client_id("b", "x"));
    BOOST_TEST(tokens.position_of_client_id("a", "x") == tokens.position_of_client_id("a", "x"));
}

BOOST_AUTO_TEST_SUITE_END()
