#include "app/admin/alarms_json.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/test/unit_test.hpp>

#include "support/print.h"

using namespace exa;
using membership::Channel;
using membership::SeedStatus;
namespace json = boost::json;

namespace {

const TimePoint now{std::chrono::hours{1}};
const TimePoint before = now - std::chrono::seconds{90};

membership::View view_of_one() {
    membership::View view;
    wire::PeerRecord record;
    record.id = PeerId{0xab};
    record.name = "other";
    record.gossip = *parse_endpoint("10.0.0.1:7946");
    membership::Member member;
    member.record = std::make_shared<const wire::PeerRecord>(record);
    view.members.push_back(std::make_shared<const membership::Member>(member));
    return view;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(alarms_json)

BOOST_AUTO_TEST_CASE(every_alarm_has_a_name_and_a_calm_peer_none) {
    membership::View view = view_of_one();
    BOOST_TEST((app::admin::alarms_json(view) == json::value(json::array{})));
    view.alarms = {.losses_held = true,
                   .udp_blocked = true,
                   .alone_with_seeds = true,
                   .seed_silent = true,
                   .name_holder = PeerId{0xab}};
    view.broken = {{PeerId{0xab}, Channel::datagrams, before}, {PeerId{0xab}, Channel::link_from, before}};
    BOOST_TEST((app::admin::alarms_json(view) ==
                json::value(json::array{"losses_held", "udp_blocked", "alone_with_seeds", "seed_silent",
                                        "waits_for_name", "pair_udp_blocked", "pair_link_blocked"})));
    BOOST_TEST((app::admin::name_holder_json(view) ==
                json::value({{"name", "other"}, {"id", "00000000000000ab"}, {"gossip", "10.0.0.1:7946"}})));
    BOOST_TEST(app::admin::broken_channels_json(now, view).at(1).at("channel") == json::value("link from it"));
    BOOST_TEST(app::admin::broken_channels_json(now, view).at(0).at("since_seconds") == json::value(90.0));
}

BOOST_AUTO_TEST_CASE(a_seed_says_what_is_the_matter_and_since_when) {
    const std::vector<SeedStatus> seeds{
        {"peers.test:7946", SeedStatus::State::silent, {*parse_endpoint("10.0.0.9:7946")}, before}};
    BOOST_TEST((app::admin::seeds_json(now, seeds) ==
                json::value(json::array{json::object{{"seed", "peers.test:7946"},
                                                     {"state", "silent"},
                                                     {"addresses", json::array{"10.0.0.9:7946"}},
                                                     {"heard_seconds", 90.0}}})));
}

BOOST_AUTO_TEST_CASE(confirming_takes_a_flag_or_nothing) {
    BOOST_TEST(!app::admin::parse_confirm_dead("").value());
    BOOST_TEST(!app::admin::parse_confirm_dead("{}").value());
    BOOST_TEST(app::admin::parse_confirm_dead(R"({"force":true})").value());
    BOOST_TEST(app::admin::parse_confirm_dead(R"({"force":1})").has_error());
}

BOOST_AUTO_TEST_SUITE_END()
