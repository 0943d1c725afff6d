#include "membership/config.h"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <string>

#include "membership/errc.h"

using namespace exa;
using namespace exa::membership;
using std::chrono::milliseconds;
using std::chrono::seconds;

BOOST_AUTO_TEST_SUITE(config)

BOOST_AUTO_TEST_CASE(defaults_are_valid_and_find_a_crash_within_ten_seconds_at_every_size) {
    BOOST_TEST(validate(Config{}).has_value());
    for (std::size_t peers = 2; peers <= 256; ++peers)
        BOOST_TEST((worst_detection(Config{}, peers) <= seconds{10}), peers << " peers");
    BOOST_TEST((worst_detection(Config{}, 1) == Duration{0}));
}

BOOST_AUTO_TEST_CASE(each_value_out_of_range_is_named) {
    const std::pair<const char*, std::function<void(Config&)>> damages[] = {
        {"probe_interval", [](Config& c) { c.probe_interval = Duration{0}; }},
        {"probe_timeout", [](Config& c) { c.probe_timeout = milliseconds{501}; }},
        {"indirect_probes", [](Config& c) { c.indirect_probes = 17; }},
        {"health_max", [](Config& c) { c.health_max = 65; }},
        {"suspicion_min", [](Config& c) { c.suspicion_min = c.gossip_interval; }},
        {"suspicion_max", [](Config& c) { c.suspicion_max = c.suspicion_min - milliseconds{1}; }},
        {"suspicion_confirmations", [](Config& c) { c.suspicion_confirmations = 17; }},
        {"witnesses", [](Config& c) { c.witnesses = 17; }},
        {"lost_after", [](Config& c) { c.lost_after = Duration{0}; }},
        {"gossip_interval", [](Config& c) { c.gossip_interval = seconds{2}; }},
        {"load_gossip_interval", [](Config& c) { c.load_gossip_interval = c.gossip_interval / 2; }},
        {"gossip_fanout", [](Config& c) { c.gossip_fanout = 0; }},
        {"retransmit_factor", [](Config& c) { c.retransmit_factor = 0; }},
        {"packet_bytes", [](Config& c) { c.packet_bytes = 1400; }},
        {"sync_interval", [](Config& c) { c.sync_interval = Duration{0}; }},
        {"pull_timeout", [](Config& c) { c.pull_timeout = Duration{0}; }},
        {"seed_backoff", [](Config& c) { c.seed_backoff = Duration{0}; }},
        {"seed_backoff_max", [](Config& c) { c.seed_backoff_max = milliseconds{1}; }},
        {"redial_interval", [](Config& c) { c.redial_interval = Duration{0}; }},
        {"left_shown", [](Config& c) { c.left_shown = Duration{0}; }},
        {"lost_kept", [](Config& c) { c.lost_kept = Duration{0}; }},
        {"gone_max", [](Config& c) { c.gone_max = 0; }},
        {"members_max", [](Config& c) { c.members_max = 1; }},
        {"load_interval", [](Config& c) { c.load_interval = Duration{0}; }},
        {"load_settle", [](Config& c) { c.load_settle = Duration{1}; }},
        {"load_change", [](Config& c) { c.load_change = -1; }},
        {"leave_time", [](Config& c) { c.leave_time = Duration{0}; }},
    };
    for (const auto& [name, damage] : damages) {
        Config config;
        damage(config);
        const auto result = validate(config);
        BOOST_REQUIRE_MESSAGE(result.has_error(), name);
        BOOST_TEST((result.error().code == membership::errc::invalid_config));
        BOOST_TEST(result.error().detail.find(name) == 0U, result.error().detail);
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

BOOST_AUTO_TEST_CASE(without_witnesses_a_lone_accuser_may_have_to_wait_the_whole_suspicion) {
    Config config;
    config.witnesses = 0;
    BOOST_TEST(
        (worst_detection(config, 256) - worst_detection(Config{}, 256) == config.suspicion_max - config.suspicion_min));
    BOOST_TEST(validate(config).has_error());
}

BOOST_AUTO_TEST_SUITE_END()
