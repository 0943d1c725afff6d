#include "membership/key_file.h"

#include <boost/test/unit_test.hpp>

#include "io/crypto/openssl_crypto.h"
#include "membership/errc.h"
#include "membership/key_ring.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;

namespace {

const io::crypto::OpenSslCrypto crypto;

KeySecret secret(std::uint8_t with) {
    KeySecret secret;
    secret.fill(with);
    return secret;
}

wire::Keys sample() {
    KeyRing ring;
    ring.add_first(std::vector{cluster_key(crypto, secret(1)), cluster_key(crypto, secret(2))});
    ring.use(cluster_key(crypto, secret(2)).id);
    ring.remove(cluster_key(crypto, secret(1)).id);
    return ring.state();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(key_file)

BOOST_AUTO_TEST_CASE(keys_are_read_in_order_past_comments_blanks_and_twins) {
    const std::string text = "# the cluster's keys\n\n" + format_key(secret(2)) + "  " +
                             format_key(secret(1)).substr(0, 44) + " # old\r\n" + format_key(secret(2));
    const auto keys = parse_key_file(crypto, text);
    BOOST_TEST_REQUIRE(keys.has_value());
    BOOST_TEST(keys.value() == (std::vector{cluster_key(crypto, secret(2)), cluster_key(crypto, secret(1))}));
}

BOOST_AUTO_TEST_CASE(a_bad_line_is_named_by_its_number_and_not_shown) {
    const auto bad = parse_key_file(crypto, format_key(secret(1)) + "c2VjcmV0\n");
    BOOST_TEST(bad.error().code == errc::invalid_keys);
    BOOST_TEST(bad.error().detail.starts_with("line 2"));
    BOOST_TEST(bad.error().detail.find("c2VjcmV0") == std::string::npos);
    for (const char* none : {"", "\n\n", "# nothing\n"}) BOOST_TEST(parse_key_file(crypto, none).has_error());
    std::string many;
    for (std::uint8_t i = 0; i < 17; ++i) many += format_key(secret(i));
    BOOST_TEST(parse_key_file(crypto, many).has_error());
}

BOOST_AUTO_TEST_CASE(a_stored_ring_reads_as_it_was) {
    BOOST_TEST(parse_ring(format_ring(sample())).value() == sample());
    BOOST_TEST(parse_ring(format_ring({})).value() == wire::Keys{});
}

BOOST_AUTO_TEST_CASE(a_ring_that_was_cut_or_changed_anywhere_is_refused) {
    const std::string whole = format_ring(sample());
    for (std::size_t size = 0; size < whole.size(); ++size)
        BOOST_TEST(parse_ring(whole.substr(0, size)).has_error(), "size " << size);
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::string changed = whole;
        changed[at] ^= 1;
        BOOST_TEST(parse_ring(changed).has_error(), "at " << at);
    }
}

BOOST_AUTO_TEST_SUITE_END()
