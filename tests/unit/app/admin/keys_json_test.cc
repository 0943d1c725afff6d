#include "app/admin/keys_json.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/test/unit_test.hpp>
#include <variant>

#include "base/base64.h"
#include "node/errc.h"
#include "support/members.h"
#include "support/print.h"

namespace {

using namespace exa;
using membership::Liveness;

KeySecret secret() {
    KeySecret secret;
    secret.fill(9);
    return secret;
}

app::shared::ControlView sample() {
    auto members = std::make_shared<membership::View>();
    const auto add = [&](std::string name, std::vector<KeyId> keys, KeyId primary, Liveness liveness) {
        wire::PeerRecord record;
        record.id = PeerId{members->members.size() + 1};
        record.name = std::move(name);
        record.keys = std::move(keys);
        record.primary_key = primary;
        members->members.push_back(test::member_of(std::move(record), liveness));
    };
    add("a", {KeyId{1}, KeyId{2}}, KeyId{1}, Liveness::alive);
    add("b", {KeyId{1}}, KeyId{1}, Liveness::lost);
    add("c", {}, KeyId{}, Liveness::left);
    auto seal = std::make_shared<app::shared::SealView>();
    seal->sealed = true;
    seal->primary = KeyId{1};
    seal->installed = {KeyId{2}, KeyId{1}};
    app::shared::ControlView view;
    view.members = std::move(members);
    view.seal = std::move(seal);
    return view;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(keys_json)

BOOST_AUTO_TEST_CASE(keys_say_who_holds_them_who_does_not_and_who_seals_with_them) {
    BOOST_TEST(boost::json::serialize(app::admin::keys_json(sample())) ==
               R"({"encrypted":true,"primary":"00000001","keys":[)"
               R"({"id":"00000002","primary":false,"held_by":1,"missing_on":["b"],"used_by":0},)"
               R"({"id":"00000001","primary":true,"held_by":2,"missing_on":[],"used_by":2}],"peers":[)"
               R"({"name":"a","liveness":"alive","primary":"00000001","keys":["00000001","00000002"]},)"
               R"({"name":"b","liveness":"lost","primary":"00000001","keys":["00000001"]}]})");
}

BOOST_AUTO_TEST_CASE(a_peer_without_keys_says_so_and_shows_its_alarms) {
    app::shared::SealView seal;
    seal.alarms = {{membership::EventKind::heard_encrypted, 7, *parse_endpoint("10.0.0.1:7946"), {}, TimePoint{}}};
    seal.counters.sealed = 7;
    BOOST_TEST(boost::json::serialize(app::admin::seal_json(TimePoint{std::chrono::seconds{2}}, seal)) ==
               R"({"encrypted":false,"primary":null,"keys":[],"stored":true,"alarms":[)"
               R"({"name":"receives encrypted gossip but has no key","packets":7,"from":"10.0.0.1:7946","key":null,)"
               R"("last_seconds":2E0}],"dropped":{"plaintext":0,"encrypted":7,"unknown_key":0,"not_authentic":0,)"
               R"("replayed":0,"damaged":0}})");
}

BOOST_AUTO_TEST_CASE(commands_are_read_whole) {
    const auto fresh = app::admin::parse_key_command(R"({"action":"add"})").value();
    BOOST_TEST(!std::get<app::access::AddKey>(fresh).secret);
    const auto given =
        app::admin::parse_key_command(R"({"action":"add","secret":")" + to_base64(secret()) + R"("})").value();
    BOOST_TEST(std::get<app::access::AddKey>(given).secret == secret());
    const auto use = app::admin::parse_key_command(R"({"action":"use","id":"0000000a"})").value();
    BOOST_TEST(std::get<app::access::UseKey>(use).id == KeyId{10});
    BOOST_TEST(!std::get<app::access::UseKey>(use).insist);
    const auto remove = app::admin::parse_key_command(R"({"action":"remove","id":"0000000a","force":true})").value();
    BOOST_TEST(std::get<app::access::RemoveKey>(remove).insist);
}

BOOST_AUTO_TEST_CASE(half_commands_are_refused_and_no_secret_is_shown) {
    for (const char* bad : {"", "[]", "{}", R"({"action":"dance"})", R"({"action":"use"})",
                            R"({"action":"use","id":"1"})", R"({"action":"use","id":"00000000"})",
                            R"({"action":"use","id":"0000000a","force":1})", R"({"action":"add","secret":7})"})
        BOOST_TEST(app::admin::parse_key_command(bad).has_error(), bad);
    const auto refused = app::admin::parse_key_command(R"({"action":"add","secret":"c2VjcmV0"})");
    BOOST_TEST_REQUIRE(refused.has_error());
    BOOST_TEST(refused.error().status == 400);
    BOOST_TEST(refused.error().body().find("c2VjcmV0") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_refused_command_is_a_conflict_and_an_unknown_key_is_not_found) {
    BOOST_TEST(app::admin::command_refusal(error(node::errc::would_cut_off, "b")).status == 409);
    BOOST_TEST(app::admin::command_refusal(error(node::errc::unknown_key, "x")).status == 404);
    BOOST_TEST(app::admin::command_refusal(error(node::errc::not_rejoined)).code == "not_rejoined");
    BOOST_TEST(app::admin::command_refusal(error(node::errc::would_cut_off, "b")).message ==
               "b: it could cut peers off");
}

BOOST_AUTO_TEST_SUITE_END()
