#include "app/kv/lookup.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <thread>
#include <vector>

#include "support/print.h"
#include "unit/app/kv/fakes.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::kv;
using namespace exa::app::test;

namespace {

class FakeValues final : public KvValues {
  public:
    std::optional<exa::kv::Item> find(const exa::kv::SegmentKey& key) const override {
        const auto found = items.find(key);
        return found == items.end() ? std::nullopt : std::optional(found->second);
    }
    exa::kv::SealedSegment get(const exa::kv::SegmentKey& key) override {
        return items.contains(key) ? segment : nullptr;
    }
    void handle_acked(const exa::kv::Item&) override {}
    void observe(std::uint64_t) override {}
    KvValuesStats stats() const override { return {}; }

    std::map<exa::kv::SegmentKey, exa::kv::Item> items;
    exa::kv::SealedSegment segment;
};

exa::kv::SealedSegment value_of(std::uint8_t n, std::uint64_t stamp) {
    auto [head, buffer] = segment_of(n);
    head.kind = exa::kv::SegmentKind::value;
    head.stamp = stamp;
    sealer.seal(head, *buffer);
    return buffer;
}

struct Fixture {
    explicit Fixture(FakeDisk* store)
        : disk(store),
          writer(
              1 << 20, sealer, memory, store, [] { return WallTime{}; }, counters),
          lookup(memory, writer, store, values, [] { return WallTime{}; }, counters) {}
    ~Fixture() {
        if (disk != nullptr) disk->hold_reads(false);
    }

    FakeDisk* disk;
    KvCounters counters;
    KvMemory memory{1 << 20};
    KvValuesLink values;
    KvWriteBehind writer;
    KvLookup lookup;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(kv_lookup)

BOOST_AUTO_TEST_CASE(a_segment_of_the_disk_is_in_memory_from_then_on) {
    FakeDisk disk;
    Fixture f(&disk);
    disk.keep(sealed(1));
    BOOST_TEST(f.lookup.find(key_of(1), {}) != nullptr);
    BOOST_TEST(f.lookup.find(key_of(1), {}) != nullptr);
    BOOST_TEST(f.counters.hits_disk == 1u);
    BOOST_TEST(f.counters.hits_memory == 1u);
    BOOST_TEST(f.lookup.find(key_of(2), {}) == nullptr);
}

BOOST_AUTO_TEST_CASE(a_value_of_the_disk_does_not_stay_in_memory) {
    FakeDisk disk;
    Fixture f(&disk);
    disk.keep(value_of(1, 5));
    BOOST_TEST(f.lookup.find(key_of(1), {}) != nullptr);
    BOOST_TEST(!f.memory.contains(key_of(1)));
}

BOOST_AUTO_TEST_CASE(several_that_want_one_segment_cost_one_read) {
    FakeDisk disk;
    Fixture f(&disk);
    disk.keep(sealed(1));
    disk.hold_reads(true);
    std::atomic<int> found = 0;
    {
        std::vector<std::jthread> readers;
        for (int i = 0; i < 3; ++i)
            readers.emplace_back([&] { found += f.lookup.find(key_of(1), {}) != nullptr ? 1 : 0; });
        disk.wait_for_gets(1);
        disk.hold_reads(false);
    }
    BOOST_TEST(found == 3);
    BOOST_TEST(disk.wait_for_gets(1) == 1u);
}

BOOST_AUTO_TEST_CASE(a_reader_that_waits_for_another_is_let_go_when_it_is_to_stop) {
    FakeDisk disk;
    Fixture f(&disk);
    disk.keep(sealed(1));
    disk.hold_reads(true);
    std::jthread reader([&] { f.lookup.find(key_of(1), {}); });
    disk.wait_for_gets(1);
    std::stop_source stopping;
    stopping.request_stop();
    BOOST_TEST(f.lookup.find(key_of(1), stopping.get_token()) == nullptr);
    disk.hold_reads(false);
}

BOOST_AUTO_TEST_CASE(items_tell_the_latest_of_disk_memory_and_values) {
    FakeDisk disk;
    Fixture f(&disk);
    disk.keep(value_of(1, 5));
    disk.keep(value_of(2, 5));
    f.memory.put(key_of(3), sealed(3));
    FakeValues values;
    values.items[key_of(1)] = {key_of(1), 6, 0};
    values.items[key_of(2)] = {key_of(2), 4, 100};
    f.values.set(&values);
    const auto items = f.lookup.items(keys_of({1, 2, 3, 4}));
    BOOST_TEST_REQUIRE(items.size() == 4u);
    BOOST_TEST(items[0].stamp == 6u);
    BOOST_TEST(items[0].bytes == 0u);
    BOOST_TEST(items[1].stamp == 5u);
    BOOST_TEST(items[2].bytes > 0u);
    BOOST_TEST(items[3].bytes == 0u);
}

BOOST_AUTO_TEST_CASE(a_value_in_memory_counts_unless_the_disk_has_a_later_version) {
    FakeDisk disk;
    Fixture f(&disk);
    FakeValues values;
    values.items[key_of(1)] = {key_of(1), 5, 100};
    values.segment = value_of(1, 5);
    BOOST_TEST(f.lookup.find_value(key_of(1)) == nullptr);
    f.values.set(&values);
    BOOST_TEST(f.lookup.find_value(key_of(1)) == values.segment);
    disk.keep(value_of(1, 6));
    BOOST_TEST(f.lookup.find_value(key_of(1)) == nullptr);
    f.values.set(nullptr);
    BOOST_TEST(f.lookup.find_value(key_of(1)) == nullptr);
}

BOOST_AUTO_TEST_CASE(a_place_is_told_without_using_the_segment) {
    FakeDisk disk;
    Fixture f(&disk);
    disk.keep(sealed(1));
    f.memory.put(key_of(2), sealed(2));
    BOOST_TEST(!f.lookup.locate(key_of(1)).memory);
    BOOST_TEST(f.lookup.locate(key_of(1)).disk.has_value());
    BOOST_TEST(f.lookup.locate(key_of(2)).memory);
    BOOST_TEST(!f.lookup.locate(key_of(2)).disk.has_value());
    BOOST_TEST(disk.wait_for_gets(0) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
