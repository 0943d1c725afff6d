#include "app/admin/admin_json.h"
#include "support/print.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

namespace {

namespace app = exa::app;
namespace json = boost::json;
using exa::PeerId;
using exa::TimePoint;
using exa::membership::Liveness;
using exa::wire::ReplicaState;
using std::chrono::seconds;

constexpr TimePoint now{seconds(1000)};

exa::wire::ReplicaRecord replica(PeerId peer, std::uint16_t slot, ReplicaState state) {
    exa::wire::ReplicaRecord record;
    record.id = {peer, exa::deployment_id("default"), slot};
    record.state = state;
    record.deployment = "default";
    record.model = "small";
    record.version = "1";
    record.role = "chat";
    record.in_flight_limit = 8;
    record.context_tokens = 2048;
    return record;
}

// A peer with a ready replica and one that loads; it turned to `liveness` 5 s ago.
std::shared_ptr<const exa::membership::Member> member(std::uint64_t id, Liveness liveness) {
    exa::wire::PeerRecord record;
    record.id = PeerId{id};
    record.generation = {7};
    record.version = 3;
    record.name = "peer-" + std::to_string(id);
    record.state = exa::wire::PeerState::serving;
    record.http = exa::parse_endpoint("127.0.0.1:8000").value();
    record.gossip = exa::parse_endpoint("[::1]:7946").value();
    record.rack = "rack-" + std::to_string(id);
    record.replicas = {replica(PeerId{id}, 0, ReplicaState::ready), replica(PeerId{id}, 1, ReplicaState::loading)};
    exa::membership::Member member;
    member.record = std::make_shared<const exa::wire::PeerRecord>(std::move(record));
    member.liveness = liveness;
    member.incarnation = {2};
    member.since = now - seconds(5);
    return std::make_shared<const exa::membership::Member>(std::move(member));
}

exa::membership::View view(std::initializer_list<Liveness> peers) {
    exa::membership::View view;
    view.number = 42;
    view.self = PeerId{1};
    std::uint64_t id = 0;
    for (const Liveness liveness : peers) view.members.push_back(member(++id, liveness));
    exa::membership::LoadEntry load;
    load.report.replica = view.members.front()->record->replicas.front().id;
    load.report.in_flight = 3;
    load.measured = now - seconds(2);
    view.loads.push_back(
        std::make_shared<exa::membership::PeerLoads>(exa::membership::PeerLoads{load.report.replica.peer, {load}}));
    return view;
}

app::admin::PeerStatus facts() {
    app::admin::PeerStatus facts;
    facts.cluster = "test";
    facts.software = "1.2.3";
    facts.uptime = seconds(9);
    facts.requests = 11;
    facts.requests_failed = 2;
    facts.requests_in_flight = 1;
    facts.gossip_ignored = 4;
    facts.links_refused = 5;
    return facts;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(admin_json)

BOOST_AUTO_TEST_CASE(a_member_is_described_in_full) {
    const auto value = app::admin::members_json(now, facts(), view({Liveness::alive, Liveness::dead}));
    BOOST_TEST(value.at("cluster") == "test");
    BOOST_TEST(value.at("self") == "0000000000000001");
    BOOST_TEST(value.at("view") == 42);
    BOOST_TEST_REQUIRE(value.at("members").as_array().size() == 2u);
    const auto& second = value.at("members").at(1);
    BOOST_TEST(second.at("id") == "0000000000000002");
    BOOST_TEST(second.at("name") == "peer-2");
    BOOST_TEST(second.at("liveness") == "dead");
    BOOST_TEST(second.at("state") == "serving");
    BOOST_TEST(second.at("generation") == 7);
    BOOST_TEST(second.at("incarnation") == 2);
    BOOST_TEST(second.at("since_seconds") == 5.0);
    BOOST_TEST(second.at("gossip") == "[::1]:7946");
    BOOST_TEST(second.at("http") == "127.0.0.1:8000");
    BOOST_TEST(second.at("rack") == "rack-2");
    BOOST_TEST(second.at("replicas") == 2);
    BOOST_TEST(second.at("replicas_ready") == 1);
}

// Names come from other peers, and from whoever speaks like one.
BOOST_AUTO_TEST_CASE(bytes_that_are_no_text_do_not_break_the_json) {
    auto strange = *member(2, Liveness::alive);
    auto record = *strange.record;
    record.name = "a\xFF\xC3";
    record.rack = "\xED\xA0\x80";
    strange.record = std::make_shared<const exa::wire::PeerRecord>(std::move(record));
    auto seen = view({Liveness::alive});
    seen.members.push_back(std::make_shared<const exa::membership::Member>(strange));
    for (const auto& value : {app::admin::members_json(now, facts(), seen), app::admin::replicas_json(now, seen)})
        BOOST_CHECK_NO_THROW(json::parse(json::serialize(value)));
}

BOOST_AUTO_TEST_CASE(status_counts_replicas_of_peers_that_are_present) {
    const auto value = app::admin::status_json(
        facts(), view({Liveness::alive, Liveness::suspect, Liveness::dead, Liveness::lost, Liveness::left}));
    for (const char* liveness : {"alive", "suspect", "dead", "lost", "left"})
        BOOST_TEST(value.at("peers").at(liveness) == 1, liveness);
    BOOST_TEST(value.at("replicas") == 4);
    BOOST_TEST(value.at("replicas_ready") == 2);
    BOOST_TEST(
        (value.at("models") == json::value{json::object{{"model", "small"}, {"replicas", 4}, {"replicas_ready", 2}}}));
    BOOST_TEST(value.at("self").at("name") == "peer-1");
    BOOST_TEST(value.at("uptime_seconds") == 9.0);
    BOOST_TEST(value.at("requests") == (json::value{{"total", 11}, {"failed", 2}, {"in_flight", 1}}));
    BOOST_TEST(value.at("gossip_ignored") == 4);
    BOOST_TEST(value.at("links_refused") == 5);
    BOOST_TEST(value.at("alarms").as_array().empty());
}

BOOST_AUTO_TEST_CASE(status_says_whose_certificate_the_door_shows_and_what_is_wrong_with_the_next) {
    auto known = facts();
    BOOST_TEST(app::admin::status_json(known, view({Liveness::alive})).at("https").is_null());
    known.https = app::access::CertificateView{{"CN=a", 1, 2}, ""};
    BOOST_TEST(app::admin::status_json(known, view({Liveness::alive})).at("https") ==
               (json::value{{"subject", "CN=a"}, {"not_after_unix", 2}, {"failure", nullptr}}));
    known.https->failure = "no key";
    BOOST_TEST(app::admin::status_json(known, view({Liveness::alive})).at("https").at("failure") == "no key");
    const auto api_keys = [&] { return app::admin::status_json(known, view({Liveness::alive})).at("api_keys"); };
    BOOST_TEST(api_keys().is_null());
    known.api_keys_failure = "";
    BOOST_TEST(api_keys().at("failure").is_null());
    known.api_keys_failure = "line 3";
    BOOST_TEST(api_keys().at("failure") == "line 3");
}

BOOST_AUTO_TEST_CASE(status_names_the_alarms_and_accepting_losses_counts_the_dead) {
    auto seen = view({Liveness::alive, Liveness::dead, Liveness::dead});
    BOOST_TEST(app::admin::confirm_dead_json(seen, "") ==
               (json::value{{"held", false}, {"dead", 2}, {"warning", nullptr}}));
    seen.alarms = {.losses_held = true, .udp_blocked = true};
    BOOST_TEST((app::admin::status_json(facts(), seen).at("alarms") ==
                json::value(json::array{"losses_held", "udp_blocked"})));
    BOOST_TEST(app::admin::confirm_dead_json(seen, "a") ==
               (json::value{{"held", true}, {"dead", 2}, {"warning", "a"}}));
}

BOOST_AUTO_TEST_CASE(a_load_that_was_never_reported_is_null) {
    const auto value = app::admin::replicas_json(now, view({Liveness::alive}));
    BOOST_TEST_REQUIRE(value.at("replicas").as_array().size() == 2u);
    const auto& first = value.at("replicas").at(0);
    BOOST_TEST(first.at("state") == "ready");
    BOOST_TEST(first.at("in_flight_limit") == 8);
    BOOST_TEST(first.at("load").at("in_flight") == 3);
    BOOST_TEST(first.at("load").at("age_seconds") == 2.0);
    BOOST_TEST(value.at("replicas").at(1).at("state") == "loading");
    BOOST_TEST(value.at("replicas").at(1).at("load").is_null());
}

BOOST_AUTO_TEST_CASE(replicas_of_peers_that_are_gone_are_not_listed) {
    const auto value =
        app::admin::replicas_json(now, view({Liveness::alive, Liveness::dead, Liveness::lost, Liveness::left}));
    BOOST_TEST(value.at("replicas").as_array().size() == 4u);
    BOOST_TEST(value.at("replicas").at(2).at("liveness") == "dead");
}

BOOST_AUTO_TEST_CASE(a_ring_shows_ready_replicas_whose_shares_add_up) {
    const auto routing = exa::router::RoutingView::build(
        std::make_shared<const exa::membership::View>(view({Liveness::alive, Liveness::alive})), nullptr);
    const auto value = app::admin::ring_json(*routing, "small");
    BOOST_TEST_REQUIRE(value.at("pools").as_array().size() == 1u);
    const auto& members = value.at("pools").at(0).at("members").as_array();
    BOOST_TEST_REQUIRE(members.size() == 2u);
    double share = 0;
    for (const json::value& each : members) {
        BOOST_TEST(each.at("points") == 64);
        share += each.at("share").as_double();
    }
    BOOST_TEST(share == 1.0, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(members[1].at("peer_name") == "peer-2");
    BOOST_TEST(value.at("pools").at(0).at("digest").as_string().size() == 16u);
}

BOOST_AUTO_TEST_CASE(a_ring_of_no_model_is_every_pool_and_of_an_unknown_one_none) {
    const auto routing = exa::router::RoutingView::build(
        std::make_shared<const exa::membership::View>(view({Liveness::alive})), nullptr);
    BOOST_TEST(app::admin::ring_json(*routing, "").at("pools").as_array().size() == 1u);
    BOOST_TEST(app::admin::ring_json(*routing, "large").at("pools").as_array().empty());
}

BOOST_AUTO_TEST_CASE(a_route_names_the_owner_and_where_the_request_goes) {
    const exa::ReplicaId owner{PeerId{1}, exa::deployment_id("default"), 0};
    const exa::ReplicaId next{PeerId{2}, exa::deployment_id("default"), 1};
    exa::router::Explanation explanation;
    explanation.pool.model = "small";
    explanation.source = exa::router::PositionSource::client_id;
    explanation.position = 0xab;
    explanation.owner = owner;
    explanation.choice = next;
    explanation.reason = exa::router::Reason::session_spilled;
    const auto add = [&](const exa::ReplicaId& id, const char* name, std::uint32_t load) {
        exa::router::ExplainedCandidate candidate{.replica = id, .peer_name = name, .load = load};
        candidate.load_score = load * 150;
        candidate.queued = 3;
        candidate.distance = exa::router::Distance::region;
        candidate.chosen = id == next;
        explanation.candidates.push_back(candidate);
    };
    add(owner, "peer-1", 8);
    add(next, "peer-2", 1);
    const auto value = app::admin::route_json("alice", explanation);
    BOOST_TEST(value.at("session") == "alice");
    BOOST_TEST(value.at("position") == "00000000000000ab");
    BOOST_TEST(value.at("owner") == to_string(owner).c_str());
    BOOST_TEST(value.at("replica") == to_string(next).c_str());
    BOOST_TEST(value.at("peer") == "0000000000000002");
    BOOST_TEST(value.at("peer_name") == "peer-2");
    BOOST_TEST(value.at("spilled_to").is_null());
    BOOST_TEST(value.at("candidates").as_array().size() == 2u);
    BOOST_TEST(value.at("candidates").at(0).at("load") == 8);
    BOOST_TEST(value.at("candidates").at(0).at("load_score") == 12.0);
    BOOST_TEST(value.at("candidates").at(0).at("queued") == 3);
    BOOST_TEST(value.at("candidates").at(0).at("distance") == "region");
    BOOST_TEST(value.at("candidates").at(1).at("chosen") == true);
}

BOOST_AUTO_TEST_CASE(a_route_to_nowhere_has_no_replica) {
    const auto value = app::admin::route_json("", exa::router::Explanation{});
    for (const char* key : {"session", "position", "owner", "replica", "peer", "peer_name", "reason"})
        BOOST_TEST(value.at(key).is_null(), key);
}

BOOST_AUTO_TEST_CASE(join_takes_hosts_and_ports) {
    const auto seeds = app::admin::parse_join(R"({"seeds":["node-1:7946","[::1]:7946"]})").value();
    BOOST_TEST(seeds == (std::vector<std::string>{"node-1:7946", "[::1]:7946"}));
    BOOST_TEST(json::serialize(app::admin::join_json(seeds)) == R"({"seeds":["node-1:7946","[::1]:7946"]})");
}

BOOST_AUTO_TEST_CASE(join_refuses_what_cannot_be_dialled) {
    const std::pair<const char*, const char*> cases[] = {
        {"{}", "seeds"},
        {R"({"seeds":"a:1"})", "seeds"},
        {R"({"seeds":[]})", "seeds"},
        {R"({"seeds":["a:1",2]})", "seeds[1]"},
        {R"({"seeds":["a"]})", "seeds[0]"},
        {R"({"seeds":[":1"]})", "seeds[0]"},
        {R"({"seeds":["a:0"]})", "seeds[0]"},
        {R"({"seeds":["a:65536"]})", "seeds[0]"},
        {R"({"seeds":["a:1x"]})", "seeds[0]"},
    };
    for (const auto& [body, param] : cases) {
        const auto seeds = app::admin::parse_join(body);
        BOOST_TEST_REQUIRE(!seeds.has_value(), body);
        BOOST_TEST(seeds.error().param.value() == param, body);
    }
    BOOST_TEST(app::admin::parse_join("{").error().status == 400);
}

BOOST_AUTO_TEST_CASE(leave_tells_how_long_it_may_take) {
    BOOST_TEST(json::serialize(app::admin::leave_json(60, 7)) == R"({"state":"draining","drain_seconds":60,"pid":7})");
}

BOOST_AUTO_TEST_SUITE_END()
