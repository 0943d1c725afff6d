#include "exaserve/key.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

#include "base/base64.h"
#include "exaserve/exit_code.h"
#include "io/crypto/openssl_crypto.h"
#include "support/print.h"

using namespace exa::cli;

BOOST_AUTO_TEST_SUITE(cli_key)

BOOST_AUTO_TEST_CASE(a_made_key_file_reads_as_one_key_is_the_owners_and_stays) {
    const std::string file = std::filesystem::temp_directory_path() / ("key_test." + std::to_string(::getpid()));
    std::filesystem::remove(file);
    BOOST_TEST(make_key_file(file).has_value());
    struct stat status{};
    BOOST_TEST(::stat(file.c_str(), &status) == 0);
    BOOST_TEST((status.st_mode & 0777) == 0600U);
    const auto first = read_keys(file).value();
    BOOST_TEST(first.size() == 1U);
    BOOST_TEST(make_key_file(file).has_value());
    BOOST_TEST(read_keys(file).value() == first);
    std::filesystem::remove(file);
    BOOST_TEST(make_key_file("/no/such/directory/key").error().exit_code == exit_data_dir);
}

BOOST_AUTO_TEST_CASE(fresh_keys_differ_and_name_their_id) {
    const std::string one = fresh_key();
    BOOST_TEST(one != fresh_key());
    BOOST_TEST(one.starts_with("# exaserve cluster key "));
}

BOOST_AUTO_TEST_CASE(a_fresh_key_as_json_is_one_that_peers_take) {
    const auto key = boost::json::parse(fresh_key_json());
    const auto bytes = exa::from_base64(key.at("secret").get_string());
    BOOST_TEST_REQUIRE(bytes.has_value());
    BOOST_TEST_REQUIRE(bytes->size() == exa::KeySecret().size());
    exa::KeySecret secret;
    std::ranges::copy(*bytes, secret.begin());
    BOOST_TEST(to_string(cluster_key(exa::io::crypto::OpenSslCrypto(), secret).id) ==
               key.at("id").get_string().c_str());
}

BOOST_AUTO_TEST_CASE(a_file_without_keys_is_wrong_usage) {
    BOOST_TEST(read_keys("/no/such/file").error().exit_code == exit_usage);
    BOOST_TEST(read_keys("/dev/null").error().exit_code == exit_usage);
}

BOOST_AUTO_TEST_SUITE_END()
