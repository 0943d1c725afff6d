#include "app/admin/kv_command.h"

#include <boost/test/unit_test.hpp>
#include <string>
#include <variant>

#include "support/print.h"
#include "unit/app/kv/fakes.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::admin;
using namespace exa::app::kv;
using namespace exa::app::test;

namespace {

const std::string key = exa::kv::to_string(key_of(1));

std::string command(const std::string& action, const std::string& more = {}) {
    return R"({"action":")" + action + R"(","key":")" + key + "\"" + more + "}";
}

// What the body says, as that command.
template <class Command>
Command parsed(const std::string& body) {
    auto command = parse_kv_command(body);
    BOOST_TEST_REQUIRE(command.has_value(), body);
    BOOST_TEST_REQUIRE(std::holds_alternative<Command>(command.value()), body);
    return std::get<Command>(std::move(command).value());
}

bool is_refused(const std::string& body) {
    return !parse_kv_command(body).has_value();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kv_command)

BOOST_AUTO_TEST_CASE(each_action_has_its_command) {
    BOOST_TEST(parsed<LocateKey>(command("locate")).key == key_of(1));
    BOOST_TEST((parsed<LocateKeys>(R"({"action":"locate","keys":[")" + key + "\"]}").keys) == keys_of({1}));
    BOOST_TEST(parsed<GetSegment>(command("get")).key == key_of(1));
    BOOST_TEST((parsed<PutValue>(command("put", R"(,"payload":"aGVsbG8=")")).payload.size()) == 5u);
    BOOST_TEST(parsed<DeleteSegment>(command("delete")).key == key_of(1));
    BOOST_TEST(!parsed<VerifyDisk>(R"({"action":"verify"})").after.has_value());
    BOOST_TEST((parsed<VerifyDisk>(R"({"action":"verify","after":")" + key + "\"}").after) == key_of(1));
    parsed<ListQuotas>(R"({"action":"quota","all":true})");
    BOOST_TEST(parsed<ShowQuota>(R"({"action":"quota","tenant":"acme"})").tenant == "acme");
    BOOST_TEST(parsed<SetQuota>(R"({"action":"quota","gib":0})").gib == 0u);
    const auto migrate =
        parsed<MigrateSegments>(R"({"action":"migrate","to":"0000000000000007","keys":[")" + key + "\"]}");
    BOOST_TEST(migrate.to == PeerId{7});
    BOOST_TEST(migrate.keys == keys_of({1}));
}

BOOST_AUTO_TEST_CASE(a_locate_asks_by_request_session_replica_or_value) {
    const auto request = parsed<LocateRequest>(R"({"action":"locate","tenant":"acme","request":{"model":"m"}})");
    BOOST_TEST(request.body == R"({"model":"m"})");
    BOOST_TEST(request.tenant == "acme");
    BOOST_TEST(parsed<LocateSession>(R"({"action":"locate","session":"00000000000000ab"})").position == 0xabu);
    const ReplicaId replica{PeerId{1}, DeploymentId{2}, 3};
    const std::string by_replica = R"({"action":"locate","replica":")" + to_string(replica) + "\"";
    BOOST_TEST(parsed<LocateReplica>(by_replica + "}").replica == replica);
    const auto page = parsed<LocateReplica>(by_replica + R"(,"after":"00000000000000ac-1097"})");
    BOOST_TEST(page.from == (KvSessions::Place{0xac, 1097}));
    BOOST_TEST(to_text(page.from) == "00000000000000ac-1097");
    const auto value = parsed<LocateValue>(R"({"action":"locate","value":"k","tenant":"acme"})");
    BOOST_TEST(value.user_key == "k");
    BOOST_TEST(value.tenant == "acme");
    // The request counts when there are several.
    parsed<LocateRequest>(command("locate", R"(,"request":{},"session":"00000000000000ab")"));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_located_is_refused) {
    BOOST_TEST(is_refused(R"({"action":"locate"})"));
    BOOST_TEST(is_refused(R"({"action":"locate","request":"m"})"));
    BOOST_TEST(is_refused(R"({"action":"locate","session":"alice"})"));
    BOOST_TEST(is_refused(R"({"action":"locate","replica":"r0"})"));
    const std::string by_replica =
        R"({"action":"locate","replica":")" + to_string(ReplicaId{PeerId{1}, DeploymentId{2}, 3}) + "\"";
    for (const std::string after : {"", "-", "1-1", "00000000000000ac", "00000000000000ac-", "00000000000000ac-1x"})
        BOOST_TEST(is_refused(by_replica + R"(,"after":")" + after + R"("})"));
}

BOOST_AUTO_TEST_CASE(what_a_command_lacks_is_named) {
    const auto refused = [](const std::string& body) { return parse_kv_command(body).error().message; };
    const auto mentions = [](const std::string& text, const char* part) { return text.find(part) != text.npos; };
    BOOST_TEST(mentions(refused("{}"), "action"));
    BOOST_TEST(mentions(refused(R"({"action":"burn"})"), "burn"));
    BOOST_TEST(mentions(refused(R"({"action":"get"})"), "key"));
    BOOST_TEST(mentions(refused(R"({"action":"get","key":"12"})"), "64 hexadecimal"));
    BOOST_TEST(mentions(refused(command("put")), "payload"));
    BOOST_TEST(mentions(refused(command("put", R"(,"payload":"?")")), "base64"));
    const std::string migrate = R"({"action":"migrate","to":"0000000000000007")";
    BOOST_TEST(mentions(refused(migrate + "}"), "keys"));
    BOOST_TEST(mentions(refused(migrate + R"(,"keys":[]})"), "at least one"));
    BOOST_TEST(mentions(refused(migrate + R"(,"keys":"ab"})"), "an array"));
    BOOST_TEST(mentions(refused(migrate + R"(,"keys":[1]})"), "a string"));
    BOOST_TEST(mentions(refused(migrate + R"(,"keys":["ab"]})"), "64 hexadecimal"));
    BOOST_TEST(mentions(refused(R"({"action":"migrate","keys":[")" + key + "\"]}"), "to"));
    BOOST_TEST(mentions(refused(R"({"action":"migrate","to":"me","keys":[")" + key + "\"]}"), "16 hexadecimal"));
    std::string many = R"({"action":"locate","keys":[")" + key + "\"";
    for (int i = 0; i < 4096; ++i) many += ",\"" + key + "\"";
    BOOST_TEST(mentions(refused(many + "]}"), "4097"));
    for (const char* gib : {"-1", "1.5", "\"2\"", "1048577"})
        BOOST_TEST(mentions(refused(R"({"action":"quota","gib":)" + std::string(gib) + "}"), "gib"));
}

BOOST_AUTO_TEST_SUITE_END()
