#include "app/admin/kv_admin.h"

#include <boost/json/serialize.hpp>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <future>

#include "kv/tenant.h"
#include "support/print.h"
#include "unit/app/kv/fakes.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::admin;
using namespace exa::app::kv;
using namespace exa::app::replica;
using namespace exa::app::test;
namespace json = boost::json;

namespace {

struct Fixture {
    Fixture() {
        auto owned = std::make_unique<FakeDisk>();
        disk = owned.get();
        service = std::make_shared<KvService>(KvServiceConfig{}, sealer, std::move(owned), [] { return WallTime{}; });
        admin.emplace(crypto, secret, service, replicas);
    }

    openai::ApiResult<json::value> run(const std::string& body) {
        auto command = parse_kv_command(body);
        BOOST_TEST_REQUIRE(command.has_value());
        std::promise<openai::ApiResult<json::value>> done;
        admin->run(std::move(command).value(), [&](auto result) { done.set_value(std::move(result)); });
        return done.get_future().get();
    }
    std::string text(const std::string& body) { return json::serialize(run(body).value()); }

    FakeDisk* disk = nullptr;
    std::shared_ptr<LocalReplicas> replicas = std::make_shared<LocalReplicas>();
    std::shared_ptr<KvService> service;
    std::optional<KvAdmin> admin;
};

// Knows two segments of every request, the kind of which names the first.
class FakeBackend final : public Backend {
  public:
    std::shared_ptr<ReplyReader> open(const wire::Open&, const ReplyContext&) override { return nullptr; }
    wire::LoadReport load() const override { return {}; }
    void stop() override {}
    std::optional<std::vector<exa::kv::SegmentKey>> kv_keys(const wire::Open& open) override {
        if (open.tenant != "acme") return std::nullopt;
        return std::vector{key_of(open.kind == wire::RequestKind::chat ? 1 : 2), key_of(3)};
    }
};

// Others, of which peer 7 is in reach and takes what there is.
class FakePeers final : public FakeKvPeers {
  public:
    explicit FakePeers(const FakeDisk& disk) : disk_(disk) {}
    void move(PeerId to, std::vector<exa::kv::SegmentKey> keys, Moved done) override {
        if (to != PeerId{7}) return done(std::nullopt);
        done(std::ranges::count_if(keys,
                                   [this](const exa::kv::SegmentKey& one) { return disk_.find(one).has_value(); }));
    }

  private:
    const FakeDisk& disk_;
};

const std::string key = exa::kv::to_string(key_of(1));

std::string command(const std::string& action, const std::string& more = {}) {
    return R"({"action":")" + action + R"(","key":")" + key + "\"" + more + "}";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kv_admin)

BOOST_AUTO_TEST_CASE(a_value_can_be_put_found_read_and_deleted) {
    Fixture f;
    BOOST_TEST(f.text(command("put", R"(,"payload":"aGVsbG8=")")) == R"({"key":")" + key + R"(","outcome":"stored"})");
    const json::value place = f.run(command("locate")).value();
    BOOST_TEST(!place.at("memory").as_bool());
    BOOST_TEST(place.at("disk").at("bytes").as_uint64() == exa::kv::segment_header_size + 5);
    const json::value got = f.run(command("get")).value();
    BOOST_TEST(got.at("payload").as_string() == "aGVsbG8=");
    BOOST_TEST(got.at("kind").as_string() == "value");
    BOOST_TEST(f.text(command("delete")) == R"({"key":")" + key + R"(","deleted":true})");
    BOOST_TEST(f.text(command("delete")) == R"({"key":")" + key + R"(","deleted":false})");
    BOOST_TEST(f.text(command("locate")) == R"({"key":")" + key + R"(","memory":false,"disk":null})");
    BOOST_TEST(f.run(command("get")).error().status == 404);
}

BOOST_AUTO_TEST_CASE(the_segments_of_a_request_are_located_one_by_one) {
    Fixture f;
    const auto replica = std::make_shared<LocalReplica>();
    replica->record.model = "m";
    replica->backend = std::make_shared<FakeBackend>();
    f.replicas->publish({replica});
    f.disk->keep(sealed(1));
    const auto located = f.run(R"({"action":"locate","tenant":"acme","request":{"model":"m","messages":[]}})").value();
    const json::array& segments = located.at("segments").as_array();
    BOOST_TEST_REQUIRE(segments.size() == 2U);
    BOOST_TEST(segments[0].at("key").as_string() == exa::kv::to_string(key_of(1)));
    BOOST_TEST(segments[0].at("disk").is_object());
    BOOST_TEST(segments[1].at("disk").is_null());
    const auto other = f.run(R"({"action":"locate","tenant":"acme","request":{"prompt":""}})").value();
    BOOST_TEST(other.at("segments").at(0).at("key").as_string() == exa::kv::to_string(key_of(2)));
    BOOST_TEST(f.run(R"({"action":"locate","tenant":"acme","request":{"model":"n"}})").error().status == 409);
    BOOST_TEST(f.run(R"({"action":"locate","request":{"model":"m"}})").error().status == 409);
}

BOOST_AUTO_TEST_CASE(a_list_of_keys_is_located_without_a_replica) {
    Fixture f;
    f.disk->keep(sealed(2));
    const std::string second = exa::kv::to_string(key_of(2));
    const auto located = f.run(R"({"action":"locate","keys":[")" + key + R"(",")" + second + R"("]})").value();
    BOOST_TEST(located.at("segments").at(0).at("disk").is_null());
    BOOST_TEST(located.at("segments").at(1).at("disk").is_object());
}

BOOST_AUTO_TEST_CASE(what_a_session_or_a_replica_has_answered_is_located) {
    Fixture f;
    f.disk->keep(sealed(2));
    const ReplicaId replica{PeerId{1}, DeploymentId{2}, 3};
    f.service->sessions().note(replica, 0xab, key_of(2), key_of(99));
    f.service->sessions().note(replica, 0xab, key_of(1), key_of(2));
    const auto of_session = f.run(R"({"action":"locate","session":"00000000000000ab"})").value();
    BOOST_TEST_REQUIRE(of_session.at("segments").as_array().size() == 2U);
    BOOST_TEST(of_session.at("segments").at(0).at("disk").is_object());
    BOOST_TEST(of_session.at("segments").at(1).at("key").as_string() == key);
    BOOST_TEST(f.text(R"({"action":"locate","session":"00000000000000ac"})") == R"({"segments":[]})");
    const auto of_replica = f.run(R"({"action":"locate","replica":")" + to_string(replica) + R"("})").value();
    BOOST_TEST(of_replica.at("segments") == of_session.at("segments"));
    BOOST_TEST(of_replica.at("next").is_null());
}

BOOST_AUTO_TEST_CASE(what_a_replica_has_answered_is_located_in_parts) {
    Fixture f;
    const ReplicaId replica{PeerId{1}, DeploymentId{2}, 3};
    const auto key_number = [](std::uint32_t number) {
        exa::kv::SegmentKey key;
        std::memcpy(key.bytes.data(), &number, sizeof(number));
        return key;
    };
    for (std::uint32_t i = 1; i <= 5000; ++i)
        f.service->sessions().note(replica, 0xab + i / 3000, key_number(i), key_number(i - 1));
    const std::string command = R"({"action":"locate","replica":")" + to_string(replica) + R"(")";
    const auto first = f.run(command + "}").value();
    BOOST_TEST(first.at("segments").as_array().size() == 4096U);
    BOOST_TEST(first.at("next").as_string() == "00000000000000ac-1097");
    const auto rest = f.run(command + R"(,"after":"00000000000000ac-1097"})").value();
    BOOST_TEST(rest.at("segments").as_array().size() == 904U);
    BOOST_TEST(rest.at("segments").at(903).at("key").as_string() == exa::kv::to_string(key_number(5000)));
    BOOST_TEST(rest.at("next").is_null());
}

BOOST_AUTO_TEST_CASE(of_a_migration_it_is_told_how_much_is_on_its_way) {
    Fixture f;
    const std::string keys =
        R"({"action":"migrate","keys":[")" + key + R"(",")" + exa::kv::to_string(key_of(2)) + "\"],";
    BOOST_TEST(f.run(keys + R"("to":"0000000000000007"})").error().status == 409);
    FakePeers peers(*f.disk);
    f.service->set_peers(peers);
    f.disk->keep(sealed(2));
    BOOST_TEST(f.text(keys + R"("to":"0000000000000007"})") == R"({"queued":1})");
    const auto refused = f.run(keys + R"("to":"0000000000000008"})");
    BOOST_TEST(refused.error().status == 409);
    BOOST_TEST(refused.error().message.find("0000000000000008") != std::string::npos);
    f.service->stop();
}

BOOST_AUTO_TEST_CASE(verify_tells_of_the_next_part_of_a_round) {
    Fixture f;
    f.disk->keep(sealed(2));
    f.disk->keep(rotten(3));
    BOOST_TEST(f.text(R"({"action":"verify"})") == R"({"checked":2,"dropped":1,"next":null})");
}

BOOST_AUTO_TEST_CASE(a_quota_is_told_and_set_for_the_tenants_tag) {
    Fixture f;
    BOOST_TEST(f.text(R"({"action":"quota","tenant":"acme"})") ==
               R"({"tenant":"acme","bytes":77,"gib":0,"set":false})");
    BOOST_TEST(f.disk->quotas.empty());
    BOOST_TEST(f.text(R"({"action":"quota","tenant":"acme","gib":2})") ==
               R"({"tenant":"acme","bytes":77,"gib":2,"set":true})");
    const auto tag = exa::kv::tenant_tag(crypto, exa::kv::tenant_salt(crypto, secret, "acme"));
    BOOST_TEST(f.disk->quotas.at(tag) == 2ull << 30);
    // What was set can be read again, until it is taken back.
    BOOST_TEST(f.text(R"({"action":"quota","tenant":"acme"})") == R"({"tenant":"acme","bytes":77,"gib":2,"set":true})");
    BOOST_TEST(f.text(R"({"action":"quota","all":true})") ==
               R"({"gib":0,"tenants":[{"tenant":"acme","bytes":77,"gib":2,"set":true}]})");
    f.text(R"({"action":"quota","tenant":"acme","gib":0})");
    BOOST_TEST(f.text(R"({"action":"quota","all":true})") == R"({"gib":0,"tenants":[]})");
}

BOOST_AUTO_TEST_CASE(without_a_cache_commands_are_refused) {
    const KvAdmin admin(crypto, secret, nullptr, std::make_shared<LocalReplicas>());
    BOOST_TEST(!admin.stats().has_value());
    int status = 0;
    admin.run(ListQuotas{}, [&](const auto& result) { status = result.error().status; });
    BOOST_TEST(status == 409);
    Fixture f;
    f.service->stop();
    BOOST_TEST(f.run(R"({"action":"verify"})").error().status == 409);
}

BOOST_AUTO_TEST_SUITE_END()
