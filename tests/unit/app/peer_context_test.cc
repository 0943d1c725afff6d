#include "app/peer_context.h"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>

#include "app/shared/errc.h"
#include "membership/key_file.h"
#include "scratch.h"
#include "support/print.h"

BOOST_AUTO_TEST_SUITE(peer_context)

namespace {

using namespace exa;
using app::PeerContext;
using app::config::PeerConfig;
using app::shared::errc;

struct Scratch : test::Scratch {
    PeerConfig config() const {
        PeerConfig config;
        config.name = "here";
        config.data_dir = path / "data";
        config.advertise.gossip = config.listen.gossip;
        config.advertise.link = config.listen.link;
        config.advertise.http = config.listen.http;
        return config;
    }
};

Error refusal(const PeerConfig& config) {
    const auto laid = PeerContext::open(config);
    BOOST_REQUIRE(!laid.has_value());
    return laid.error();
}

bool says(const Error& error, const std::string& words) {
    return error.detail.find(words) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_start_is_a_new_life_of_the_same_peer) {
    const Scratch scratch;
    PeerId id;
    for (std::uint64_t life = 1; life <= 3; ++life) {
        const auto base = PeerContext::open(scratch.config());
        BOOST_REQUIRE(base.has_value());
        if (life == 1) id = base.value()->identity.peer;
        BOOST_TEST(base.value()->identity.peer == id);
        BOOST_TEST(base.value()->identity.generation == Generation{life});
        BOOST_TEST(base.value()->identity.name == "here");
        BOOST_TEST(base.value()->keys.empty());
        BOOST_TEST(base.value()->encryption.keys == nullptr);
    }
}

BOOST_AUTO_TEST_CASE(two_lives_at_a_time_are_refused) {
    const Scratch scratch;
    const auto first = PeerContext::open(scratch.config());
    BOOST_REQUIRE(first.has_value());
    BOOST_TEST(refusal(scratch.config()).code == errc::data_dir_locked);
}

BOOST_AUTO_TEST_CASE(cluster_key_seals_the_peer_and_stays_when_its_file_is_gone) {
    const Scratch scratch;
    PeerConfig config = scratch.config();
    KeySecret secret;
    secret.fill(7);
    config.security.cluster_key_file = scratch.write("cluster.key", membership::format_key(secret));
    BOOST_TEST(PeerContext::open(config).value()->encryption.keys != nullptr);
    config.security.cluster_key_file.clear();
    BOOST_TEST(!PeerContext::open(config).value()->keys.empty());
    // Who has keys does not go without them by a word in a file.
    config.security.allow_plaintext = true;
    BOOST_TEST(says(refusal(config), "security.allow_plaintext"));
}

BOOST_AUTO_TEST_CASE(root_secret_of_a_file_is_long_enough_or_the_file_is_named) {
    const Scratch scratch;
    PeerConfig config = scratch.config();
    config.root_secret_file = scratch.path / "nowhere";
    BOOST_TEST(says(refusal(config), "nowhere cannot be read"));
    config.root_secret_file = scratch.write("short", std::string(31, 'x'));
    BOOST_TEST(says(refusal(config), "31 bytes, 32 or more"));
    config.root_secret_file = scratch.write("right", std::string(32, 'x'));
    BOOST_TEST(PeerContext::open(config).value()->root_secret.size() == 32u);
}

BOOST_AUTO_TEST_CASE(root_secret_without_a_file_is_the_clusters_name) {
    const Scratch scratch;
    PeerConfig config = scratch.config();
    const Bytes one = PeerContext::open(config).value()->root_secret;
    BOOST_TEST(PeerContext::open(config).value()->root_secret == one);
    config.cluster = "another";
    BOOST_TEST(PeerContext::open(config).value()->root_secret != one);
}

BOOST_AUTO_TEST_CASE(bad_address_names_its_key_before_a_generation_is_used_up) {
    const Scratch scratch;
    PeerConfig config = scratch.config();
    config.listen.link = "no port";
    const Error refused = refusal(config);
    BOOST_TEST(refused.code == errc::usage);
    BOOST_TEST(says(refused, "listen.link"));
    BOOST_TEST(!std::filesystem::exists(scratch.path / "data"));
}

BOOST_AUTO_TEST_SUITE_END()
