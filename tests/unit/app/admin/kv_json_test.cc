#include "app/admin/kv_json.h"

#include <boost/json/serialize.hpp>
#include <boost/test/unit_test.hpp>

using namespace exa::app;
using namespace exa::app::admin;
using namespace exa::app::kv;
namespace json = boost::json;

BOOST_AUTO_TEST_SUITE(kv_json_test)

BOOST_AUTO_TEST_CASE(a_peer_without_a_cache_says_so) {
    BOOST_TEST(json::serialize(kv_json(std::nullopt)) == R"({"enabled":false})");
}

BOOST_AUTO_TEST_CASE(every_count_stands_under_its_name) {
    KvStats stats;
    stats.memory_segments = 1;
    stats.memory_bytes = 2;
    stats.queued_segments = 3;
    stats.queued_bytes = 4;
    stats.finished = 5;
    stats.dropped = 6;
    stats.refused = 7;
    stats.loads = 8;
    stats.misses = 9;
    stats.hits_memory = 10;
    stats.hits_disk = 11;
    stats.hits_peers = 12;
    stats.hits_cold = 17;
    stats.scrubbed = 13;
    stats.scrub_dropped = 14;
    stats.scrub_rounds = 15;
    BOOST_TEST(
        json::serialize(kv_json(stats)) ==
        R"({"enabled":true,"memory":{"segments":1,"bytes":2},"queue":{"segments":3,"bytes":4},"finished":5,)"
        R"("dropped":6,"refused":7,"loads":8,"misses":9,"scrub":{"checked":13,"dropped":14,"rounds":15,"recovered":0},)"
        R"("hits":{"memory":10,"disk":11,"peers":12,"cold":17},"disk":null,)"
        R"("peers":null,"cold":null})");
    stats.disk = exa::io::store::StoreStats{.entries = 1, .physical_bytes = 3, .capacity_bytes = 4, .disk_errors = 5};
    const json::value value = kv_json(stats);
    BOOST_TEST(value.at("disk").at("segments").as_uint64() == 1U);
    BOOST_TEST(value.at("disk").at("physical_bytes").as_uint64() == 3U);
    BOOST_TEST(value.at("disk").at("capacity_bytes").as_uint64() == 4U);
    BOOST_TEST(value.at("disk").at("errors").as_uint64() == 5U);
    stats.peers = exa::node::KvReplicatorStatus{.recovered = 16};
    BOOST_TEST(kv_json(stats).at("scrub").at("recovered").as_uint64() == 16U);
    stats.cold = exa::io::cold::ColdStats{
        .is_closed_off = true, .trouble = "Input/output error", .files = 2, .reads = 3, .present = 4, .errors = 5};
    const json::value cold = kv_json(stats).at("cold");
    BOOST_TEST(cold.at("closed_off").as_bool());
    BOOST_TEST(cold.at("trouble").as_string() == "Input/output error");
    BOOST_TEST(cold.at("files").as_uint64() == 2U);
    BOOST_TEST(cold.at("reads").as_uint64() == 3U);
    BOOST_TEST(cold.at("present").as_uint64() == 4U);
    BOOST_TEST(cold.at("errors").as_uint64() == 5U);
}

BOOST_AUTO_TEST_SUITE_END()
