#include "node/key_history.h"

#include <boost/test/unit_test.hpp>
#include <vector>

#include "io/crypto/openssl_crypto.h"
#include "membership/errc.h"
#include "membership/key_file.h"
#include "support/print.h"

using namespace exa;
using node::first_ring;

namespace {

const io::crypto::OpenSslCrypto crypto;

ClusterKey key(std::uint8_t with) {
    KeySecret secret;
    secret.fill(with);
    return cluster_key(crypto, secret);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(key_history)

BOOST_AUTO_TEST_CASE(the_first_start_stores_the_operators_keys_and_the_next_one_writes_nothing) {
    const std::vector given{key(1)};
    const auto first = first_ring(crypto, std::nullopt, given).value();
    BOOST_TEST(first.ring.primary()->id == key(1).id);
    const auto next = first_ring(crypto, first.file.value(), given).value();
    BOOST_TEST((next.ring == first.ring));
    BOOST_TEST(!next.file.has_value());
}

BOOST_AUTO_TEST_CASE(a_removed_key_in_the_operators_file_does_not_come_back) {
    auto ring = first_ring(crypto, std::nullopt, std::vector{key(1)}).value().ring;
    ring.add(key(2));
    ring.use(key(2).id);
    ring.remove(key(1).id);
    membership::KeyRing kept = ring;
    const auto next = first_ring(crypto, membership::format_ring(kept.state()), std::vector{key(1)}).value();
    BOOST_TEST((next.ring == ring));
    BOOST_TEST(!next.file.has_value());
}

BOOST_AUTO_TEST_CASE(without_a_file_of_either_kind_the_cluster_is_plaintext) {
    const auto first = first_ring(crypto, std::nullopt, {}).value();
    BOOST_TEST(first.ring.empty());
    BOOST_TEST(!first.file.has_value());
}

BOOST_AUTO_TEST_CASE(a_damaged_ring_is_an_error_whatever_the_operators_file_says) {
    BOOST_TEST(first_ring(crypto, "exaserve-keys 1\nend 0\n", std::vector{key(1)}).error().code ==
               membership::errc::invalid_keys);
}

BOOST_AUTO_TEST_SUITE_END()
