#include "app/resp/version_search.h"

#include <boost/test/unit_test.hpp>
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
        : RespPartsFixture(disk, peers), versions(deps, cache, guard, counters) {}

    void search(const std::string& user_key) {
        versions.search({user_key_of(user_key)}, [this](const auto& verdicts) { verdict = verdicts.at(0); });
    }

    CallbackGuard guard;
    RespVersionSearch versions;
    std::optional<exa::kv::ValueVerdict> verdict;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(resp_version_search)

BOOST_AUTO_TEST_CASE(without_others_what_is_here_is_the_last_version) {
    FakeDisk disk;
    Fixture f(&disk);
    f.search("a");
    BOOST_TEST(!f.verdict->is_found());
    disk.keep(f.sealed_parts("a", {"1"}, 5).front());
    f.search("a");
    BOOST_TEST(f.verdict->is_local);
    BOOST_TEST(f.verdict->stamp == 5u);
    const auto removal = f.cache.remove(user_key_of("a"), 3, 5);
    f.search("a");
    BOOST_TEST(f.verdict->stamp == removal.stamp);
    BOOST_TEST(f.verdict->is_removal);
    BOOST_TEST(f.counters.searches == 0u);
}

BOOST_AUTO_TEST_CASE(others_are_told_what_is_here_and_their_verdict_counts) {
    AskedPeers peers;
    Fixture f(nullptr, &peers);
    const auto written = f.write("a", "1");
    f.search("a");
    BOOST_TEST(!f.verdict.has_value());
    BOOST_TEST_REQUIRE(peers.asked.size() == 1u);
    BOOST_TEST(peers.asked[0].item.stamp == written.stamp);
    BOOST_TEST(peers.asked[0].is_unacked);
    exa::kv::ValueVerdict later;
    later.stamp = written.stamp + 7;
    later.holders = {PeerId{2}};
    peers.found({later});
    BOOST_TEST(f.verdict == later);
    BOOST_TEST(!f.cache.find_item(user_key_of("a")).has_value());
    BOOST_TEST(f.counters.searches == 1u);
    BOOST_TEST(f.counters.unsure == 1u);
}

BOOST_AUTO_TEST_CASE(a_verdict_that_comes_after_the_end_is_dropped) {
    AskedPeers peers;
    Fixture f(nullptr, &peers);
    f.search("a");
    f.guard.close();
    peers.found({exa::kv::ValueVerdict{}});
    BOOST_TEST(!f.verdict.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
