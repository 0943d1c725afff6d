#include "sim/process/key_disk.h"

#include <boost/test/unit_test.hpp>

#include "io/crypto/openssl_crypto.h"
#include "support/print.h"

using namespace exa;
using namespace exa::sim;

namespace {

const io::crypto::OpenSslCrypto crypto;

ClusterKey key(std::uint8_t with) {
    KeySecret secret;
    secret.fill(with);
    return cluster_key(crypto, secret);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(key_disk)

BOOST_AUTO_TEST_CASE(a_stored_ring_survives_a_crash_and_not_a_new_disk) {
    Disk disk(Rng(1));
    auto ring = *load_keys(crypto, disk, key(1));
    BOOST_TEST(ring.primary()->id == key(1).id);
    ring.add(key(2));
    ring.use(key(2).id);
    ring.remove(key(1).id);
    BOOST_TEST(store_keys(disk, ring));
    disk.crash();
    BOOST_TEST(*load_keys(crypto, disk, key(1)) == ring);
    disk.wipe();
    BOOST_TEST(load_keys(crypto, disk, key(1))->primary()->id == key(1).id);
}

BOOST_AUTO_TEST_CASE(a_full_disk_keeps_the_ring_of_before_and_a_damaged_one_gives_none) {
    Disk disk(Rng(1));
    const auto before = *load_keys(crypto, disk, key(1));
    BOOST_TEST(store_keys(disk, before));
    auto ring = before;
    ring.add(key(2));
    disk.faults().full = true;
    BOOST_TEST(!store_keys(disk, ring));
    BOOST_TEST(*load_keys(crypto, disk, key(1)) == before);
    disk.faults().corrupt = true;
    BOOST_TEST(!load_keys(crypto, disk, key(1)).has_value());
}

BOOST_AUTO_TEST_CASE(the_first_ring_is_on_the_disk_before_it_is_used) {
    Disk disk(Rng(1));
    BOOST_TEST(load_keys(crypto, disk, key(1)).has_value());
    BOOST_TEST(has_keys(disk));
    // The operator's file of a restarted peer does not replace what it holds.
    const auto again = load_keys(crypto, disk, key(2));
    BOOST_TEST(again->primary()->id == key(1).id);
    Disk full(Rng(2));
    full.faults().full = true;
    BOOST_TEST(!load_keys(crypto, full, key(1)).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
