#include "app/access/key_store.h"

#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "app/shared/errc.h"
#include "io/crypto/openssl_crypto.h"
#include "membership/key_file.h"
#include "scratch.h"
#include "support/print.h"

namespace {

using namespace exa;
using app::access::KeyStore;
using app::shared::DataDir;
using test::Scratch;

const io::crypto::OpenSslCrypto crypto;

KeySecret secret(std::uint8_t with) {
    KeySecret secret;
    secret.fill(with);
    return secret;
}

KeyId id(std::uint8_t with) {
    return cluster_key(crypto, secret(with)).id;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(key_store)

BOOST_AUTO_TEST_CASE(without_a_file_and_a_ring_a_peer_is_not_sealed_and_stores_nothing) {
    const Scratch scratch;
    const DataDir directory = DataDir::open(scratch.path, PeerId{1}).value();
    const KeyStore store(directory, crypto);
    BOOST_TEST(store.load("").value().empty());
    BOOST_TEST(!std::filesystem::exists(scratch.path / "keys"));
}

BOOST_AUTO_TEST_CASE(keys_of_the_operators_file_are_stored_for_the_owner_alone_and_outlive_the_file) {
    const Scratch scratch;
    const std::string file = scratch.write("cluster.key", membership::format_key(secret(1)));
    const DataDir directory = DataDir::open(scratch.path, PeerId{1}).value();
    const KeyStore store(directory, crypto);
    const auto ring = store.load(file).value();
    BOOST_TEST(ring.primary()->id == id(1));
    struct stat status{};
    BOOST_TEST(::stat((scratch.path / "keys").c_str(), &status) == 0);
    BOOST_TEST((status.st_mode & 0777) == 0600U);
    std::filesystem::remove(file);
    BOOST_TEST(store.load("").value() == ring);
}

BOOST_AUTO_TEST_CASE(a_rotation_outlives_a_restart_with_the_old_file) {
    const Scratch scratch;
    const std::string file = scratch.write("cluster.key", membership::format_key(secret(1)));
    const DataDir directory = DataDir::open(scratch.path, PeerId{1}).value();
    const KeyStore store(directory, crypto);
    auto ring = store.load(file).value();
    ring.add(cluster_key(crypto, secret(2)));
    ring.use(id(2));
    ring.remove(id(1));
    BOOST_TEST(store.store(ring).has_value());
    const auto again = store.load(file).value();
    BOOST_TEST(again == ring);
    BOOST_TEST(again.find(id(1)) == nullptr);
}

BOOST_AUTO_TEST_CASE(a_damaged_ring_stops_the_peer_and_is_left_as_it_is) {
    const Scratch scratch;
    const std::string file = scratch.write("cluster.key", membership::format_key(secret(1)));
    const DataDir directory = DataDir::open(scratch.path, PeerId{1}).value();
    const KeyStore store(directory, crypto);
    BOOST_TEST(store.load(file).has_value());
    scratch.write("keys", "exaserve-keys 1\nprimary 00000000 0\n");
    const auto refused = store.load(file);
    BOOST_TEST_REQUIRE(refused.has_error());
    BOOST_TEST(refused.error().code == app::shared::errc::data_dir);
    BOOST_TEST(std::filesystem::file_size(scratch.path / "keys") == 35U);
}

BOOST_AUTO_TEST_CASE(a_file_that_is_missing_or_holds_no_key_is_named) {
    const Scratch scratch;
    const std::string file = scratch.write("cluster.key", "not a key\n");
    const DataDir directory = DataDir::open(scratch.path, PeerId{1}).value();
    const KeyStore store(directory, crypto);
    for (const std::string& path : {file, file + ".none", scratch.write("huge", std::string(70'000, '#'))}) {
        const auto refused = store.load(path);
        BOOST_TEST_REQUIRE(refused.has_error());
        BOOST_TEST(refused.error().code == app::shared::errc::usage);
        BOOST_TEST(refused.error().detail.find(path) != std::string::npos, refused.error().detail);
    }
}

BOOST_AUTO_TEST_SUITE_END()
