#include "membership/config.h"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <string>

#include "membership/errc.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using std::chrono::milliseconds;
using std::chrono::seconds;

BOOST_AUTO_TEST_SUITE(config)

BOOST_AUTO_TEST_CASE(defaults_are_valid_and_find_a_crash_within_ten_seconds_at_every_size) {
    BOOST_TEST(validate(Config{}).has_value());
    for (std::size_t peers = 2; peers <= 256; ++peers)
        BOOST_TEST(worst_detection(Config{}, peers) <= seconds{10}, peers << " peers");
    BOOST_TEST(worst_detection(Config{}, 1) == Duration{0});
}

BOOST_AUTO_TEST_CASE(every_profile_is_valid_and_keeps_its_promise_at_every_size) {
    for (const Profile profile : {Profile::lan, Profile::wan, Profile::hpc}) {
        const Config config = config_of(profile);
        BOOST_TEST(validate(config).has_value(), "profile " << static_cast<int>(profile));
        for (std::size_t peers = 2; peers <= 256; ++peers)
            BOOST_TEST(worst_detection(config, peers) <= config.dead_after_max, peers << " peers");
    }
    BOOST_TEST(lan() == Config{});
}

BOOST_AUTO_TEST_CASE(lan_and_hpc_call_a_crash_dead_within_ten_seconds_and_wan_takes_longer) {
    BOOST_TEST(lan().dead_after_max == seconds{10});
    BOOST_TEST(worst_detection(hpc(), 256) < worst_detection(lan(), 256));
    BOOST_TEST(worst_detection(wan(), 256) > seconds{10});
}

BOOST_AUTO_TEST_CASE(wan_survives_a_round_trip_of_300_ms_in_each_of_its_waits) {
    const Duration round_trip = milliseconds{300};
    BOOST_TEST(wan().probe_timeout >= 3 * round_trip);
    BOOST_TEST(wan().gossip_interval >= round_trip);
    BOOST_TEST(wan().pull_timeout >= 10 * round_trip);
}

BOOST_AUTO_TEST_CASE(a_value_that_contradicts_another_is_named) {
    const std::pair<const char*, std::function<void(Config&)>> damages[] = {
        {"probe_timeout", [](Config& c) { c.probe_timeout = c.probe_interval / 2 + milliseconds{1}; }},
        {"gossip_interval", [](Config& c) { c.gossip_interval = c.probe_interval * 2; }},
        {"load_gossip_interval", [](Config& c) { c.load_gossip_interval = c.gossip_interval / 2; }},
        {"suspicion_min", [](Config& c) { c.suspicion_min = c.gossip_interval; }},
        {"suspicion_max", [](Config& c) { c.suspicion_max = c.suspicion_min - milliseconds{1}; }},
        {"seed_backoff_max", [](Config& c) { c.seed_backoff_max = c.seed_backoff / 2; }},
        {"lost_retention", [](Config& c) { c.lost_retention = c.lost_after / 2; }},
        {"members_max", [](Config& c) { c.members_max = c.tombstones_max - 1; }},
        {"record_interval_max", [](Config& c) { c.record_interval_max = c.record_interval / 2; }},
        {"load_interval_max", [](Config& c) { c.load_interval_max = c.load_interval / 2; }},
        {"leave_propagation", [](Config& c) { c.leave_propagation = c.gossip_interval / 2; }},
    };
    for (const auto& [name, damage] : damages) {
        Config config;
        damage(config);
        const auto result = validate(config);
        BOOST_REQUIRE_MESSAGE(result.has_error(), name);
        BOOST_TEST(result.error().detail.starts_with(std::string(name) + " = "), result.error().detail);
    }
}

BOOST_AUTO_TEST_CASE(constants_that_together_take_too_long_are_refused) {
    Config config;
    config.suspicion_min = seconds{8};
    config.suspicion_max = seconds{9};
    BOOST_TEST(validate(config).error().detail.find("dead_after_max") != std::string::npos);
    config.dead_after_max = seconds{20};
    BOOST_TEST(validate(config).has_value());
}

BOOST_AUTO_TEST_CASE(without_out_of_turn_probers_detection_may_take_the_whole_suspicion) {
    Config config;
    config.out_of_turn_probers = 0;
    BOOST_TEST(
        (worst_detection(config, 256) - worst_detection(Config{}, 256) == config.suspicion_max - config.suspicion_min));
    BOOST_TEST(validate(config).has_error());
}

BOOST_AUTO_TEST_SUITE_END()
