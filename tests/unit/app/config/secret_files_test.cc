#include "app/config/secret_files.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <string>

using namespace exa::app;
using namespace exa::app::config;

namespace {

struct Fixture {
    Fixture() : path(std::filesystem::temp_directory_path() / ("secret files." + std::to_string(::getpid()))) {
        std::ofstream(path) << "secret";
    }
    ~Fixture() { std::filesystem::remove(path); }

    void set_mode(unsigned mode) { std::filesystem::permissions(path, std::filesystem::perms(mode)); }

    std::filesystem::path path;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(secret_files, Fixture)

BOOST_AUTO_TEST_CASE(a_secret_is_its_owners_alone_and_root_may_share_with_a_group) {
    for (const unsigned mode : {0600U, 0400U, 0100600U}) BOOST_TEST(!is_exposed(Secrecy::secret, mode, 1000));
    for (const unsigned mode : {0640U, 0604U, 0660U, 0644U, 0620U}) BOOST_TEST(is_exposed(Secrecy::secret, mode, 1000));
    BOOST_TEST(!is_exposed(Secrecy::secret, 0640, 0));
    for (const unsigned mode : {0644U, 0660U, 0604U}) BOOST_TEST(is_exposed(Secrecy::secret, mode, 0));
}

BOOST_AUTO_TEST_CASE(hashes_may_be_read_and_not_written_by_others) {
    BOOST_TEST(!is_exposed(Secrecy::hashes, 0644, 1000));
    BOOST_TEST(is_exposed(Secrecy::hashes, 0664, 1000));
    BOOST_TEST(is_exposed(Secrecy::hashes, 0646, 0));
}

BOOST_AUTO_TEST_CASE(every_key_that_names_a_secret_is_looked_at_and_the_command_mends_it) {
    set_mode(0666);
    exa::app::config::PeerConfig config;
    BOOST_TEST(find_exposed_files(config).empty());
    config.security.cluster_key_file = config.root_secret_file = config.http.key_file = config.attach.api_key_file =
        config.security.api_keys_file = path;
    const auto exposed = find_exposed_files(config);
    BOOST_TEST_REQUIRE(exposed.size() == 5U);
    BOOST_TEST(exposed[0].key == "security.cluster_key_file");
    BOOST_TEST(exposed[0].path == path.string());
    BOOST_TEST(exposed[0].mode == "0666");
    BOOST_TEST(std::system(exposed[4].fix.c_str()) == 0);
    BOOST_TEST(find_exposed_files(config).size() == 4U);
    BOOST_TEST(std::system(exposed[0].fix.c_str()) == 0);
    BOOST_TEST(find_exposed_files(config).empty());
    config.security.cluster_key_file = path.string() + ".none";
    BOOST_TEST(find_exposed_files(config).empty());
}

BOOST_AUTO_TEST_SUITE_END()
