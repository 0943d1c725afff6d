#include "app/kv/chain_fetch.h"

#include <boost/test/unit_test.hpp>
#include <vector>

#include "support/print.h"
#include "unit/app/kv/fakes.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::kv;
using namespace exa::app::shared;
using namespace exa::app::test;

namespace {

// Others that bring what the test hands them.
class HeldPeers final : public FakeKvPeers {
  public:
    void load(std::vector<exa::kv::SegmentKey> chain, std::vector<bool> held, const exa::kv::FetchTerms&,
              Sink to) override {
        asked = std::move(chain);
        holdings = std::move(held);
        sink = std::move(to);
        called.set_value();
    }
    std::vector<exa::kv::SegmentKey> asked;
    std::vector<bool> holdings;
    Sink sink;
    std::promise<void> called;
};

struct Fixture {
    explicit Fixture(FakeDisk* store, std::uint32_t threads = 1)
        : writer(1 << 20, sealer, memory, store, wall, counters),
          lookup(memory, writer, store, values, wall, counters),
          workers(threads),
          chains(memory, writer, lookup, store, workers, wall, counters) {}

    std::vector<int> load(std::initializer_list<std::uint8_t> numbers) {
        Basket basket;
        chains.load(keys_of(numbers), basket.sink(), {});
        return basket.wait();
    }

    static WallTime wall() { return {}; }
    KvCounters counters;
    KvMemory memory{1 << 20};
    KvValuesLink values;
    KvWriteBehind writer;
    KvLookup lookup;
    WorkQueue workers;
    KvChainFetch chains;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(kv_chain_fetch)

BOOST_AUTO_TEST_CASE(the_longest_run_comes_in_order_from_memory_and_disk) {
    FakeDisk disk;
    Fixture f(&disk);
    f.memory.put(key_of(1), sealed(1));
    for (const std::uint8_t n : std::initializer_list<std::uint8_t>{2, 3, 5}) disk.keep(sealed(n));
    BOOST_TEST(f.load({1, 2, 3, 4, 5}) == (std::vector<int>{1, 2, 3}), boost::test_tools::per_element());
    BOOST_TEST(f.counters.hits_memory == 1u);
    BOOST_TEST(f.counters.hits_disk == 2u);
    BOOST_TEST(f.counters.misses == 1u);
}

BOOST_AUTO_TEST_CASE(what_is_all_in_memory_comes_within_the_call_without_threads) {
    FakeDisk disk;
    Fixture f(&disk, 0);
    f.memory.put(key_of(1), sealed(1));
    f.memory.put(key_of(2), sealed(2));
    BOOST_TEST(f.load({1, 2}).size() == 2u);
    // So does a prompt that nobody has seen.
    BOOST_TEST(f.load({7, 8}).empty());
    BOOST_TEST(f.counters.misses == 1u);
}

BOOST_AUTO_TEST_CASE(segments_of_the_disk_and_of_peers_come_together_in_order) {
    FakeDisk disk;
    HeldPeers peers;
    Fixture f(&disk);
    f.chains.set_peers(peers);
    disk.keep(sealed(1));
    disk.keep(sealed(3));
    Basket basket;
    f.chains.load(keys_of({1, 2, 3, 4}), basket.sink(), {});
    peers.called.get_future().get();
    BOOST_TEST(peers.asked == keys_of({2, 3, 4}));
    BOOST_TEST(peers.holdings == (std::vector<bool>{false, true, false}));
    BOOST_TEST(peers.sink({0, sealed(2), false}));
    BOOST_TEST(peers.sink({2, sealed(4), true}));
    peers.sink({3, nullptr, false});
    BOOST_TEST(basket.wait() == (std::vector<int>{1, 2, 3, 4}), boost::test_tools::per_element());
    BOOST_TEST(f.counters.hits_peers == 1u);
    BOOST_TEST(f.counters.hits_cold == 1u);
    BOOST_TEST(f.counters.misses == 0u);
    // What peers brought is kept.
    f.writer.stop();
    BOOST_TEST(disk.find(key_of(2)).has_value());
    BOOST_TEST(f.memory.contains(key_of(4)));
}

BOOST_AUTO_TEST_CASE(the_run_ends_where_peers_have_nothing) {
    FakeDisk disk;
    HeldPeers peers;
    Fixture f(&disk);
    f.chains.set_peers(peers);
    Basket basket;
    f.chains.load(keys_of({1, 2, 3}), basket.sink(), {});
    peers.called.get_future().get();
    peers.sink({0, sealed(1), false});
    peers.sink({1, nullptr, false});
    BOOST_TEST(basket.wait() == std::vector<int>{1}, boost::test_tools::per_element());
    BOOST_TEST(f.counters.misses == 1u);
}

BOOST_AUTO_TEST_CASE(peers_hear_when_no_more_is_wanted) {
    FakeDisk disk;
    HeldPeers peers;
    Fixture f(&disk);
    f.chains.set_peers(peers);
    Basket basket(1);
    f.chains.load(keys_of({1, 2}), basket.sink(), {});
    peers.called.get_future().get();
    peers.sink({0, sealed(1), false});
    BOOST_TEST(basket.wait().size() == 1u);
    f.workers.stop();
    BOOST_TEST(!peers.sink({1, sealed(2), false}));
}

BOOST_AUTO_TEST_CASE(a_load_after_the_end_brings_nothing) {
    FakeDisk disk;
    Fixture f(&disk);
    f.memory.put(key_of(1), sealed(1));
    f.writer.close();
    BOOST_TEST(f.load({1}).empty());
    // And one that the threads do not come to ends.
    Fixture g(&disk);
    disk.keep(sealed(2));
    g.workers.stop();
    BOOST_TEST(g.load({2}).empty());
}

BOOST_AUTO_TEST_SUITE_END()
