#include "app/resp/reader.h"

#include <boost/test/unit_test.hpp>
#include <future>
#include <optional>

#include "support/print.h"
#include "unit/app/resp/parts.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::kv;
using namespace exa::app::resp;
using namespace exa::app::shared;
using namespace exa::app::test;

namespace {

struct Fixture : RespPartsFixture {
    explicit Fixture(io::store::SegmentStore* disk = nullptr, KvPeers* peers = nullptr)
        : RespPartsFixture(disk, peers, 64 << 20),
          versions(deps, cache, guard, counters),
          workers(disk == nullptr ? 0 : 1),
          reader(deps, cache, versions, workers, guard, counters) {}

    static RespKeys keys_of(const std::vector<std::string>& user_keys) {
        RespKeys keys{{}, user_keys};
        for (const std::string& each : user_keys) keys.segments.push_back(user_key_of(each));
        return keys;
    }
    // The answer comes when what is asked of others has come.
    std::future<exa::resp::Outcome> get(const std::vector<std::string>& user_keys) {
        auto answer = std::make_shared<std::promise<exa::resp::Outcome>>();
        reader.get(keys_of(user_keys), [answer](exa::resp::Outcome outcome) { answer->set_value(std::move(outcome)); });
        return answer->get_future();
    }
    std::string text(const std::string& user_key) { return text_of(get({user_key}).get().values.at(0)); }
    std::future<exa::resp::Outcome> length(const std::string& user_key) {
        auto answer = std::make_shared<std::promise<exa::resp::Outcome>>();
        reader.length(keys_of({user_key}),
                      [answer](exa::resp::Outcome outcome) { answer->set_value(std::move(outcome)); });
        return answer->get_future();
    }

    CallbackGuard guard;
    RespVersionSearch versions;
    WorkQueue workers;
    RespReader reader;
};

// What a part holds that is not the last one.
const std::string full(resp_part_bytes_max, 'x');

exa::kv::ValueVerdict with_peer(std::uint64_t stamp, std::uint32_t bytes = 0) {
    exa::kv::ValueVerdict verdict;
    verdict.stamp = stamp;
    verdict.is_sure = true;
    verdict.holders = {PeerId{2}};
    verdict.bytes = bytes;
    return verdict;
}

bool is_ready(const std::future<exa::resp::Outcome>& answer) {
    return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(resp_reader)

BOOST_AUTO_TEST_CASE(a_value_in_memory_is_answered_within_the_call) {
    Fixture f;
    f.write("a", "1");
    auto answer = f.get({"a", "b"});
    BOOST_TEST_REQUIRE(is_ready(answer));
    const auto outcome = answer.get();
    BOOST_TEST(text_of(outcome.values.at(0)) == "1");
    BOOST_TEST(!outcome.values.at(1).has_value());
    BOOST_TEST(f.counters.hits_memory == 1u);
    BOOST_TEST(f.counters.misses == 1u);
    BOOST_TEST(f.counters.got_bytes == 1u);
}

BOOST_AUTO_TEST_CASE(what_was_read_from_the_disk_stays_in_memory) {
    FakeDisk disk;
    Fixture f(&disk);
    for (const auto& part : f.sealed_parts("a", {full, full, "3"}, 5)) disk.keep(part);
    BOOST_TEST(f.text("a") == full + full + "3");
    BOOST_TEST(f.text("a") == full + full + "3");
    BOOST_TEST(f.counters.hits_disk == 1u);
    BOOST_TEST(f.counters.hits_memory == 1u);
}

BOOST_AUTO_TEST_CASE(a_value_that_lacks_a_part_is_a_miss) {
    FakeDisk disk;
    Fixture f(&disk);
    const auto parts = f.sealed_parts("a", {full, full, "3"}, 5);
    disk.keep(parts[0]);
    disk.keep(parts[2]);
    BOOST_TEST(f.text("a") == "(none)");
    // A part of another write does not fit either.
    disk.keep(f.sealed_parts("a", {full, full, "3"}, 6)[1]);
    BOOST_TEST(f.text("a") == "(none)");
    BOOST_TEST(f.counters.misses == 2u);
    disk.keep(parts[1]);
    BOOST_TEST(f.text("a").size() == 2 * full.size() + 1);
}

BOOST_AUTO_TEST_CASE(values_from_memory_disk_and_peers_are_one_answer) {
    FakeDisk disk;
    AskedPeers peers;
    Fixture f(&disk, &peers);
    const auto written = f.write("memory", "1");
    disk.keep(f.sealed_parts("disk", {"2"}, 5).front());
    auto answer = f.get({"memory", "disk", "peer", "none"});
    exa::kv::ValueVerdict here;
    here.is_local = here.is_sure = true;
    here.stamp = written.stamp;
    exa::kv::ValueVerdict stored = here;
    stored.stamp = 5;
    peers.found({here, stored, with_peer(9), {}});
    BOOST_TEST(peers.fetched_item.stamp == 9u);
    f.workers.stop();
    BOOST_TEST(!is_ready(answer));
    peers.fetched(f.sealed_parts("peer", {"3"}, 9).front());
    BOOST_TEST_REQUIRE(is_ready(answer));
    const auto outcome = answer.get();
    BOOST_TEST(text_of(outcome.values.at(0)) == "1");
    BOOST_TEST(text_of(outcome.values.at(1)) == "2");
    BOOST_TEST(text_of(outcome.values.at(2)) == "3");
    BOOST_TEST(!outcome.values.at(3).has_value());
    BOOST_TEST(f.counters.hits_peers == 1u);
}

BOOST_AUTO_TEST_CASE(what_a_peer_does_not_give_is_a_miss) {
    AskedPeers peers;
    Fixture f(nullptr, &peers);
    auto answer = f.get({"a"});
    peers.found({with_peer(9)});
    peers.fetched(nullptr);
    BOOST_TEST_REQUIRE(is_ready(answer));
    BOOST_TEST(!answer.get().values.at(0).has_value());
    BOOST_TEST(f.counters.misses == 1u);
}

BOOST_AUTO_TEST_CASE(a_peer_that_answers_after_the_end_is_not_heard) {
    AskedPeers peers;
    Fixture f(nullptr, &peers);
    auto answer = f.get({"a"});
    peers.found({with_peer(9)});
    f.guard.close();
    peers.fetched(f.sealed_parts("a", {"1"}, 9).front());
    BOOST_TEST(!is_ready(answer));
    BOOST_TEST(f.cache.usage().values == 0u);
}

BOOST_AUTO_TEST_CASE(a_length_moves_no_value_when_the_record_tells_it) {
    AskedPeers peers;
    Fixture f(nullptr, &peers);
    auto answer = f.length("a");
    const auto part = f.sealed_parts("a", {"hello"}, 9).front();
    peers.found({with_peer(9, static_cast<std::uint32_t>(part->size()))});
    BOOST_TEST_REQUIRE(is_ready(answer));
    BOOST_TEST(answer.get().number == 5);
    BOOST_TEST(!peers.fetched);
}

BOOST_AUTO_TEST_CASE(a_length_comes_from_the_head_in_memory_or_on_the_disk) {
    FakeDisk disk;
    Fixture f(&disk);
    f.write("a", "hello");
    BOOST_TEST(f.length("a").get().number == 5);
    disk.keep(f.sealed_parts("b", {"on disk"}, 5).front());
    BOOST_TEST(f.length("b").get().number == 7);
    BOOST_TEST(f.length("c").get().number == 0);
}

BOOST_AUTO_TEST_SUITE_END()
