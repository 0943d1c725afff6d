#include "exaserve/show.h"

#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>
#include <string_view>

namespace {

using namespace exa::cli;

boost::json::value reply(std::string_view text) {
    return boost::json::parse({text.data(), text.size()});
}

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(show)

BOOST_AUTO_TEST_CASE(a_dead_peer_shows_dead_and_not_what_it_last_said) {
    const std::string text = members_text(reply(R"({"self":"1","members":[
        {"id":"1","name":"a","liveness":"alive","state":"serving","since_seconds":65,"replicas":2,"replicas_ready":1,
         "rack":"r1","http":"127.0.0.1:8000","generation":3},
        {"id":"2","name":"b","liveness":"dead","state":"serving","since_seconds":5}]})"),
                                          Style::plain);
    BOOST_TEST(has(text, "a *   serving  1 min 5 s"), text);
    BOOST_TEST(has(text, "1/2"), text);
    BOOST_TEST(has(text, "b     dead"), text);
}

BOOST_AUTO_TEST_CASE(members_are_in_the_order_of_their_names) {
    const std::string text =
        members_text(reply(R"({"members":[{"name":"c"},{"name":"a"},{"name":"b"}]})"), Style::plain);
    BOOST_TEST(text.find("\na ") < text.find("\nb "), text);
    BOOST_TEST(text.find("\nb ") < text.find("\nc "), text);
}

BOOST_AUTO_TEST_CASE(status_names_only_the_liveness_there_is) {
    const std::string text = status_text(reply(R"({"cluster":"c","self":{"name":"a","state":"serving"},
        "peers":{"alive":2,"suspect":0,"dead":1,"lost":0,"left":0},"replicas":4,"replicas_ready":3,
        "models":[{"model":"small","replicas":4,"replicas_ready":3}]})"),
                                         Style::plain);
    BOOST_TEST(has(text, "2 alive, 1 dead\n"), text);
    BOOST_TEST(has(text, "3/4 ready"), text);
    BOOST_TEST(has(text, "small    3/4"), text);
}

BOOST_AUTO_TEST_CASE(a_ring_shows_shares_in_percent) {
    const std::string text = ring_text(reply(R"({"pools":[{"model":"small","role":"chat","version":"1","digest":"d",
        "members":[{"replica":"x.y.0","peer_name":"a","rack":"r1","points":64,"share":0.5}]}]})"),
                                       Style::plain);
    BOOST_TEST(has(text, "model small, role chat, version 1, digest d\n"), text);
    BOOST_TEST(has(text, "50.0 %"), text);
    BOOST_TEST(has(ring_text(reply(R"({"pools":[]})"), Style::plain), "no pool"));
}

BOOST_AUTO_TEST_CASE(a_route_names_peers_and_marks_the_choice) {
    const std::string text = route_text(reply(R"({"session":"alice","position_source":"client id","model":"small",
        "position":"ab","owner":"x.y.0","spilled_to":null,"replica":"z.y.0","reason":"session spilled","candidates":[
        {"replica":"x.y.0","peer_name":"a","load":8,"bound":4,"limit":8,"eligibility":"full","fits":true,"chosen":false},
        {"replica":"z.y.0","peer_name":"b","load":1,"bound":4,"limit":8,"eligibility":"good","fits":true,"chosen":true},
        {"replica":"w.y.0","peer_name":"c","load":1,"bound":4,"limit":8,"eligibility":"good","fits":false}]})"),
                                        Style::plain);
    BOOST_TEST(has(text, "ring owner      x.y.0 on a\n"), text);
    BOOST_TEST(has(text, "goes to         z.y.0 on b\n"), text);
    BOOST_TEST(has(text, ">  z.y.0"), text);
    BOOST_TEST(!has(text, ">  x.y.0"), text);
    BOOST_TEST(!has(text, "spilled to"), text);
    BOOST_TEST(has(text, "prompt too long"), text);
}

BOOST_AUTO_TEST_CASE(a_replica_without_a_load_report_shows_dashes) {
    const std::string text = replicas_text(reply(R"({"replicas":[
        {"id":"x.y.0","peer_name":"a","rack":"r1","model":"small","liveness":"alive","state":"ready",
         "in_flight_limit":8,"load":{"in_flight":3,"queued_tokens":70,"kv_used_permille":125}},
        {"id":"x.y.1","peer_name":"a","rack":"r1","model":"small","liveness":"suspect","state":"ready",
         "in_flight_limit":8,"load":null}]})"),
                                           Style::plain);
    BOOST_TEST(has(text, "3/8"), text);
    BOOST_TEST(has(text, "12.5 %"), text);
    BOOST_TEST(has(text, "peer suspect"), text);
    BOOST_TEST(has(text, "-/8"), text);
}

// The answer may come from another version, or from no peer at all.
BOOST_AUTO_TEST_CASE(answers_of_another_shape_are_shown_without_failing) {
    for (const char* text : {"null", "[]", "1", "{}", R"({"members":1,"self":[],"peers":"x","models":{},"pools":[1],
             "candidates":[null],"replicas":[[]],"owner":{}})",
                             R"({"members":[1],"models":[null]})"}) {
        const auto value = reply(text);
        BOOST_TEST(!members_text(value, Style::plain).empty());
        BOOST_TEST(!status_text(value, Style::plain).empty());
        BOOST_TEST(!ring_text(value, Style::plain).empty());
        BOOST_TEST(!route_text(value, Style::plain).empty());
        BOOST_TEST(!replicas_text(value, Style::plain).empty());
    }
}

BOOST_AUTO_TEST_CASE(keys_show_who_lacks_them) {
    const std::string text = keys_text(reply(R"({"encrypted":true,"primary":"0000000a","keys":[
        {"id":"0000000a","primary":true,"held_by":1,"missing_on":["b","c"],"used_by":1}],
        "peers":[{},{},{}]})"),
                                       Style::plain);
    BOOST_TEST(has(text, "0000000a *"), text);
    BOOST_TEST(has(text, "1/3"), text);
    BOOST_TEST(has(text, "b, c"), text);
    BOOST_TEST(has(keys_text(reply(R"({"encrypted":false})"), Style::plain), "not encrypted"));
}

BOOST_AUTO_TEST_CASE(status_shows_the_certificate_and_why_the_next_is_not_used) {
    const std::string text =
        status_text(reply(R"({"https":{"subject":"CN=a","not_after_unix":86400,"failure":"no key"}})"), Style::plain);
    BOOST_TEST(has(text, "https           CN=a, until 1970-01-02"));
    BOOST_TEST(has(text, "alarm           the new certificate is not used: no key"));
    BOOST_TEST(!has(status_text(reply(R"({"https":null})"), Style::plain), "https"));
    BOOST_TEST(has(status_text(reply(R"({"api_keys":{"failure":"line 3"}})"), Style::plain),
                   "alarm           the file of API keys is not used, those of before are: line 3"));
    BOOST_TEST(!has(status_text(reply(R"({"api_keys":{"failure":null}})"), Style::plain), "alarm"));
}

BOOST_AUTO_TEST_CASE(status_shows_the_seal_and_its_alarms) {
    const std::string text =
        status_text(reply(R"({"seal":{"encrypted":true,"primary":"0000000a","stored":false,"alarms":[
        {"name":"receives plaintext gossip","packets":3,"from":"10.0.0.1:7946","key":null,"last_seconds":2}]}})"),
                    Style::plain);
    BOOST_TEST(has(text, "encrypted       with key 0000000a"), text);
    BOOST_TEST(has(text, "receives plaintext gossip: 3 packets"), text);
    BOOST_TEST(has(text, "cannot be stored"), text);
    BOOST_TEST(has(status_text(reply(R"({"seal":{"encrypted":false}})"), Style::plain), "encrypted       no"));
}

BOOST_AUTO_TEST_CASE(the_kv_cache_is_shown_by_tier) {
    const std::string text = kv_text(reply(R"({"enabled":true,"memory":{"segments":2,"bytes":3145728},
        "queue":{"segments":0,"bytes":0},"finished":5,"dropped":1,"refused":0,"loads":4,"misses":3,
        "hits":{"memory":6,"disk":7,"peers":0,"cold":21},"disk":{"segments":9,"physical_bytes":2048,"capacity_bytes":1073741824,
        "evicted":1,"expired":2,"unpersisted":22,"corrupt":3,"errors":0},"cold":{"closed_off":false,"full":true,
        "trouble":"No space left on device","files":23,"bytes":2048,"share_bytes":4096,"reads":24,"read_bytes":1024,
        "bytes_per_s":1048576,"declined":25,"refused":26,"corrupt":27,"written":28,"written_bytes":512,"present":29,
        "evicted":30,"errors":31},"peers":{"converged":false,"waiting":11,"held":12,"refused":0,
        "dropped":13,"fetched":14,"fetched_bytes":2048,"corrupt":0,
        "repair":{"running":true,"passes":15,"looked_at":16,"offered":17}}})"),
                                     Style::plain);
    BOOST_TEST(has(text, "2 segments, 3.0 MiB"), text);
    BOOST_TEST(has(text, "9 segments, 2.0 KiB of 1.0 GiB"), text);
    BOOST_TEST(has(text, "6 in memory, 7 on disk"), text);
    BOOST_TEST(has(text, "3 that did not verify"), text);
    BOOST_TEST(has(text, "11 segments wait"), text);
    BOOST_TEST(has(text, "12 segments, 0 refused, 13 left"), text);
    BOOST_TEST(has(text, "14 segments, 2.0 KiB"), text);
    BOOST_TEST(has(text, "running, 15 passes ended; 16 segments looked at, 17 offered"), text);
    BOOST_TEST(has(text, "21 in the shared directory"), text);
    BOOST_TEST(has(text, "23 segments, 2.0 KiB of 4.0 KiB in this peer's care; full"), text);
    BOOST_TEST(has(text, "24 segments, 1.0 KiB, 1.0 MiB/s of late; 25 sooner computed, 26 not asked for, 27 that"),
               text);
    BOOST_TEST(has(text, "28 segments, 512 B, 29 were there, 22 left the disk unwritten; 30 removed"), text);
    BOOST_TEST(has(text, "31, the last: No space left"), text);
    BOOST_TEST(has(
        kv_text(reply(R"({"enabled":true,"cold":{"closed_off":true,"trouble":"Stale file handle"}})"), Style::plain),
        "closed off: Stale file handle"));
    BOOST_TEST(
        has(kv_text(reply(R"({"enabled":true,"peers":{"converged":true}})"), Style::plain), "all that is on disk"));
    BOOST_TEST(has(kv_text(reply(R"({"enabled":false})"), Style::plain), "keeps no KV"));
    BOOST_TEST(has(kv_text(reply(R"({"enabled":true})"), Style::plain), "memory"));
}

BOOST_AUTO_TEST_SUITE_END()
