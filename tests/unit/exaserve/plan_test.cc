#include "exaserve/plan.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>

#include "app/config/options.h"
#include "exaserve/exit_code.h"

namespace {

using namespace exa::cli;

UpOptions options() {
    UpOptions options;
    options.run_dir = "/run";
    return options;
}

// The value of a flag, or nothing; fails when it is there twice.
std::optional<std::string> flag(const PlannedPeer& peer, const std::string& name) {
    std::optional<std::string> value;
    for (const std::string& argument : peer.arguments) {
        if (!argument.starts_with(name + "=")) continue;
        BOOST_TEST(!value.has_value(), name);
        value = argument.substr(name.size() + 1);
    }
    return value;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(plan)

BOOST_AUTO_TEST_CASE(every_peer_has_its_own_ports_and_all_others_as_seeds) {
    const auto peers = plan_peers(options()).value();
    BOOST_TEST_REQUIRE(peers.size() == 3u);
    std::set<std::string> addresses;
    for (const PlannedPeer& peer : peers)
        for (const char* name : {"--listen-http", "--listen-link", "--listen-gossip"})
            addresses.insert(flag(peer, name).value());
    BOOST_TEST(addresses.size() == 9u);
    BOOST_TEST(peers[1].http == "127.0.0.1:8001");
    BOOST_TEST(flag(peers[1], "--listen-link").value() == "127.0.0.1:8101");
    BOOST_TEST(flag(peers[1], "--seeds").value() == "127.0.0.1:8200,127.0.0.1:8202");
    BOOST_TEST(flag(peers[1], "--data-dir").value() == "/run/peer-2");
}

BOOST_AUTO_TEST_CASE(racks_are_filled_in_turn) {
    auto few = options();
    few.peers = 4;
    few.racks = 2;
    const auto peers = plan_peers(few).value();
    BOOST_TEST(flag(peers[0], "--rack").value() == "rack-1");
    BOOST_TEST(flag(peers[3], "--rack").value() == "rack-2");
    BOOST_TEST(flag(plan_peers(options()).value()[2], "--rack").value() == "rack-3");
}

BOOST_AUTO_TEST_CASE(a_cluster_of_one_has_no_seeds) {
    auto one = options();
    one.peers = 1;
    BOOST_TEST(!flag(plan_peers(one).value()[0], "--seeds").has_value());
}

BOOST_AUTO_TEST_CASE(a_cluster_with_api_keys_is_not_started_without_an_admins) {
    UpOptions with_keys = options();
    with_keys.settings.emplace_back("security.api_keys_file", "keys.toml");
    BOOST_TEST(plan_peers(with_keys).error().exit_code == exit_usage);
    with_keys.admin_key = "sk-exa-1";
    const auto plan = plan_peers(with_keys);
    BOOST_TEST_REQUIRE(plan.has_value());
    for (const PlannedPeer& peer : plan.value())
        for (const std::string& argument : peer.arguments) BOOST_TEST(argument.find("sk-exa-1") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_setting_takes_the_place_of_the_planned_one) {
    auto more = options();
    more.settings = {{"model.replicas", "5"}, {"log.level", "debug"}};
    const auto peers = plan_peers(more).value();
    BOOST_TEST(flag(peers[0], "--model-replicas").value() == "5");
    BOOST_TEST(flag(peers[0], "--log-level").value() == "debug");
}

BOOST_AUTO_TEST_CASE(a_setting_that_no_peer_takes_is_refused_before_one_starts) {
    for (const auto& [key, value] : {std::pair("foo.bar", "1"), std::pair("model.replicas", "many")}) {
        auto wrong = options();
        wrong.settings = {{key, value}};
        const auto refused = plan_peers(wrong);
        BOOST_TEST_REQUIRE(!refused.has_value());
        BOOST_TEST(refused.error().exit_code == exit_usage);
        BOOST_TEST(refused.error().message.find(key) != std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(ports_that_do_not_fit_are_refused) {
    auto high = options();
    high.base_port = 65334;
    BOOST_TEST(plan_peers(high).error().exit_code == exit_usage);
    high.base_port = 65333;
    BOOST_TEST(plan_peers(high).has_value());
}

// The plan speaks in the configuration's own keys: each one has a flag, and none is made up.
BOOST_AUTO_TEST_CASE(every_planned_flag_is_a_key_of_the_configuration) {
    auto full = options();
    full.model = "m.gguf";
    full.model_name = "m";
    full.encrypted = true;
    const auto peers = plan_peers(full).value();
    for (const std::string& argument : peers[0].arguments) {
        if (argument == "peer") continue;
        const std::string name = argument.substr(0, argument.find('='));
        const bool known =
            std::ranges::any_of(exa::app::config::peer_options(),
                                [&](const exa::app::config::PeerOption& key) { return flag_of(key.name) == name; });
        BOOST_TEST(known, name);
    }
}

BOOST_AUTO_TEST_CASE(no_two_keys_share_a_flag) {
    std::set<std::string> flags;
    for (const exa::app::config::PeerOption& key : exa::app::config::peer_options()) flags.insert(flag_of(key.name));
    BOOST_TEST(flags.size() == exa::app::config::peer_options().size());
}

BOOST_AUTO_TEST_SUITE_END()
