#include "wire/validate.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <string>

#include "samples.h"
#include "wire/errc.h"

using namespace exa;
using namespace exa::wire;

BOOST_AUTO_TEST_SUITE(validate)

BOOST_AUTO_TEST_CASE(samples_are_valid) {
    BOOST_TEST(check(samples::packet()).has_value());
    BOOST_TEST(check(samples::sync()).has_value());
    BOOST_TEST(check_record(samples::record()).has_value());
}

BOOST_AUTO_TEST_CASE(one_bad_field_invalidates_a_packet) {
    const std::pair<const char*, std::function<void(Packet&)>> damages[] = {
        {"sender", [](Packet& p) { p.header.sender = PeerId{}; }},
        {"instance", [](Packet& p) { p.header.instance = 0; }},
        {"generation", [](Packet& p) { p.header.generation.value = ~std::uint64_t{0}; }},
        {"incarnation", [](Packet& p) { p.facts[0].incarnation.value = counter_max + 1; }},
        {"subject", [](Packet& p) { p.facts[0].subject = PeerId{}; }},
        {"state", [](Packet& p) { p.facts[0].state = static_cast<MemberState>(4); }},
        {"base", [](Packet& p) { p.records[0].base = p.records[0].version + 1; }},
        {"version", [](Packet& p) { p.records[0].version = 0; }},
        {"profile", [](Packet& p) { p.records[0].profile.reset(); }},
        {"stub", [](Packet& p) { p.records[0].base = p.records[0].version; }},
        {"peer state", [](Packet& p) { p.records[0].profile->state = static_cast<PeerState>(9); }},
        {"name", [](Packet& p) { p.records[0].profile->name = std::string(text_bytes_max + 1, 'x'); }},
        {"control", [](Packet& p) { p.records[0].profile->rack = "a\nb"; }},
        {"replica state", [](Packet& p) { p.records[0].replicas[0].state = static_cast<ReplicaState>(99); }},
        {"weight", [](Packet& p) { p.records[0].replicas[0].weight = 1U << 20; }},
        {"replica's peer", [](Packet& p) { p.records[0].replicas[0].id.peer = PeerId{1}; }},
        {"order", [](Packet& p) { std::swap(p.records[0].replicas[0], p.records[0].replicas[1]); }},
        {"twins", [](Packet& p) { p.records[0].replicas[1] = p.records[0].replicas[0]; }},
        {"removed", [](Packet& p) { p.records[1].removed[0].peer = PeerId{1}; }},
        {"load's peer", [](Packet& p) { p.loads[0].reports[0].replica.peer = PeerId{1}; }},
        {"permille", [](Packet& p) { p.loads[0].reports[0].kv_used_permille = 1001; }},
        {"age", [](Packet& p) { p.loads[0].age = std::chrono::hours{2}; }},
        {"part", [](Packet& p) { p.loads[0].part = 32; }},
        {"loads", [](Packet& p) { p.loads[0].reports.resize(load_group_max + 1, p.loads[0].reports[0]); }},
    };
    for (const auto& [what, damage] : damages) {
        Packet packet = samples::packet();
        damage(packet);
        BOOST_TEST(!check(packet).has_value(), what);
        BOOST_TEST(!encode(packet).has_value(), what);
    }
}

BOOST_AUTO_TEST_CASE(one_bad_field_invalidates_a_request) {
    const std::pair<const char*, std::function<void(Open&)>> damages[] = {
        {"model", [](Open& o) { o.model = std::string(text_bytes_max + 1, 'm'); }},
        {"version", [](Open& o) { o.version = "1\n"; }},
        {"tenant", [](Open& o) { o.tenant = std::string(text_bytes_max + 1, 't'); }},
        {"request id", [](Open& o) { o.x_request_id = "a\r\nx: y"; }},
        {"response id", [](Open& o) { o.response_id = std::string(text_bytes_max + 1, 'r'); }},
        {"kind", [](Open& o) { o.kind = static_cast<RequestKind>(8); }},
        {"no choice", [](Open& o) { o.choices.clear(); }},
        {"choices", [](Open& o) { o.choices.resize(choices_max + 1); }},
        {"long target", [](Open& o) { o.target = "/" + std::string(target_bytes_max, 'x'); }},
        {"split target", [](Open& o) { o.target = "/v1/models HTTP/1.1"; }},
        {"other host's target", [](Open& o) { o.target = "http://elsewhere/"; }},
        {"priority", [](Open& o) { o.priority = static_cast<Priority>(3); }},
        {"wait", [](Open& o) { o.queue_wait = wait_max + Duration{1}; }},
        {"negative wait", [](Open& o) { o.queue_wait = Duration{-1}; }},
        {"headers", [](Open& o) { o.headers.resize(headers_max + 1, {"x", "y"}); }},
    };
    for (const auto& [what, damage] : damages) {
        Open open;
        BOOST_TEST(check(open).has_value());
        damage(open);
        BOOST_TEST(!check(open).has_value(), what);
    }
}

BOOST_AUTO_TEST_CASE(one_bad_field_invalidates_an_answer) {
    BOOST_TEST(check(Head{}).has_value());
    BOOST_TEST(!check(Head{.status = 100}).has_value());
    BOOST_TEST(!check(Head{.status = 600}).has_value());
    BOOST_TEST(!check(Head{.headers = {{"", ""}}}).has_value());
    LoadReport beyond;
    beyond.kv_used_permille = 1001;
    BOOST_TEST(!check(Head{.load = beyond}).has_value());
    BOOST_TEST(!check(End{.load = beyond}).has_value());
    BOOST_TEST(!check(End{.retry_after = wait_max + Duration{1}}).has_value());
}

BOOST_AUTO_TEST_CASE(fields_of_the_connection_and_secrets_are_not_passed_on) {
    for (const char* name :
         {"authorization", "connection", "content-length", "cookie", "host", "keep-alive", "proxy-authenticate",
          "proxy-authorization", "set-cookie", "te", "trailer", "transfer-encoding", "upgrade", "x-api-key"})
        BOOST_TEST(!check(HeaderField{name, "v"}).has_value(), name);
    for (const char* name : {"traceparent", "accept", "content-type", "retry-after", "x-ratelimit-remaining"})
        BOOST_TEST(check(HeaderField{name, "v"}).has_value(), name);
    BOOST_TEST(!check(HeaderField{"x y", "v"}).has_value());
    BOOST_TEST(!check(HeaderField{"x:y", "v"}).has_value());
    BOOST_TEST(!check(HeaderField{"x", " v"}).has_value());
    BOOST_TEST(!check(HeaderField{"x", std::string("a\0b", 3)}).has_value());
    BOOST_TEST(check(HeaderField{"x", "M\xc3\xbcnchen\tHbf"}).has_value());
    BOOST_TEST(check(HeaderField{"x", ""}).has_value());
}

BOOST_AUTO_TEST_CASE(a_digest_must_be_sorted_and_inside_its_range) {
    Sync sync = samples::sync();
    std::swap(sync.digest[0], sync.digest[1]);
    BOOST_TEST(!check(sync).has_value());
    sync = samples::sync();
    sync.first = PeerId{0x5556};
    BOOST_TEST(!check(sync).has_value());
    sync = samples::sync();
    sync.last = PeerId{0x6665};
    BOOST_TEST(!check(sync).has_value());
}

BOOST_AUTO_TEST_CASE(a_summary_has_all_its_parts_and_nothing_else_has_any) {
    Sync sync = samples::summary();
    BOOST_TEST(check(sync).has_value());
    sync.summary.pop_back();
    BOOST_TEST(!check(sync).has_value());
    sync = samples::sync();
    sync.summary = samples::summary().summary;
    BOOST_TEST(!check(sync).has_value());
}

BOOST_AUTO_TEST_CASE(a_record_that_would_fill_a_link_message_is_oversized) {
    PeerRecord record = samples::record(256);
    BOOST_TEST(check_record(record).has_value());
    for (ReplicaRecord& replica : record.replicas) {
        replica.numerics = std::string(120, 'n') + std::to_string(replica.id.slot);
        replica.model = replica.version = replica.role = replica.tenant_pool = replica.numerics;
    }
    BOOST_TEST(check_record(record).error().code == errc::oversized);
}

BOOST_AUTO_TEST_CASE(an_error_names_the_text_and_its_limit) {
    PeerRecord record = samples::record();
    record.region = std::string(200, 'r');
    const auto result = check_record(record);
    BOOST_TEST(result.error().code == errc::oversized);
    BOOST_TEST(result.error().detail == "region of 200 bytes, at most 128");
}

BOOST_AUTO_TEST_SUITE_END()
