#include "app/kv/write_behind.h"

#include <boost/test/unit_test.hpp>
#include <mutex>
#include <thread>
#include <vector>

#include "support/print.h"
#include "unit/app/kv/fakes.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::kv;
using namespace exa::app::test;

namespace {

constexpr std::size_t sealed_bytes = exa::kv::segment_header_size + 100;

class HearingPeers final : public FakeKvPeers {
  public:
    void handle_stored(const exa::kv::SegmentHead& head, exa::kv::SealedSegment) override {
        const std::lock_guard lock(mutex);
        stored.push_back(head.key);
    }
    std::mutex mutex;
    std::vector<exa::kv::SegmentKey> stored;
};

struct Fixture {
    explicit Fixture(std::uint64_t queue_bytes_max = 1 << 20, io::store::SegmentStore* store = nullptr)
        : writer(queue_bytes_max, sealer, memory, store, [] { return WallTime{}; }, counters) {}

    void offer(std::uint8_t n) {
        auto [head, buffer] = segment_of(n);
        writer.offer(head, std::move(buffer));
    }
    void keep(std::uint8_t n) {
        const auto segment = sealed(n);
        writer.keep(exa::kv::parse_segment(segment->view()).value(), segment);
    }

    KvCounters counters;
    KvMemory memory{1 << 20};
    KvWriteBehind writer;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(kv_write_behind)

BOOST_AUTO_TEST_CASE(what_was_offered_is_sealed_in_memory_and_on_the_disk) {
    FakeDisk disk;
    Fixture f(1 << 20, &disk);
    f.offer(1);
    f.writer.stop();
    BOOST_TEST(sealer.verify(key_of(1), disk.get({}, key_of(1))->view()).has_value());
    BOOST_TEST(f.memory.contains(key_of(1)));
    BOOST_TEST(f.writer.usage().segments == 0u);
    BOOST_TEST(f.writer.usage().bytes == 0u);
    BOOST_TEST(f.counters.finished == 1u);
}

BOOST_AUTO_TEST_CASE(a_full_queue_takes_no_more) {
    FakeDisk disk;
    Fixture f(2 * sealed_bytes, &disk);
    disk.hold_writes(true);
    f.offer(1);
    BOOST_TEST(f.writer.has_room(sealed_bytes));
    f.keep(2);
    BOOST_TEST(!f.writer.has_room(sealed_bytes));
    BOOST_TEST(f.counters.dropped == 1u);
    f.keep(3);
    BOOST_TEST(f.writer.usage().segments == 2u);
    disk.hold_writes(false);
    f.writer.stop();
    BOOST_TEST(!disk.find(key_of(3)).has_value());
}

BOOST_AUTO_TEST_CASE(a_segment_can_be_had_before_the_disk_comes_to_it) {
    FakeDisk disk;
    Fixture f(1 << 20, &disk);
    disk.hold_writes(true);
    for (std::uint8_t n = 1; n <= 20; ++n) f.offer(n);
    BOOST_TEST(f.writer.bring_forward(key_of(20), {}));
    BOOST_TEST(!f.writer.is_queued(key_of(20)));
    BOOST_TEST(f.memory.contains(key_of(20)));
    BOOST_TEST(f.writer.bring_forward(key_of(99), {}));
    BOOST_TEST(!f.memory.contains(key_of(99)));
    disk.hold_writes(false);
    f.writer.stop();
    BOOST_TEST(disk.find(key_of(20)).has_value());
    BOOST_TEST(f.writer.usage().segments == 0u);
}

BOOST_AUTO_TEST_CASE(peers_hear_of_what_was_made_here_and_stored_only) {
    FakeDisk disk;
    HearingPeers peers;
    Fixture f(1 << 20, &disk);
    f.writer.set_peers(peers);
    f.offer(1);
    f.keep(2);
    disk.wait_for_puts(2);
    disk.full = true;
    f.offer(3);
    f.writer.stop();
    BOOST_TEST(peers.stored == keys_of({1}));
    BOOST_TEST(f.counters.refused == 1u);
}

BOOST_AUTO_TEST_CASE(the_same_segment_waits_once) {
    FakeDisk disk;
    Fixture f(1 << 20, &disk);
    disk.hold_writes(true);
    f.offer(9);
    while (f.writer.is_queued(key_of(9))) std::this_thread::yield();
    // The thread is at the disk: these wait.
    f.offer(1);
    f.offer(1);
    BOOST_TEST(f.writer.usage().segments == 2u);
    disk.hold_writes(false);
}

BOOST_AUTO_TEST_CASE(nothing_is_taken_once_it_is_closed) {
    FakeDisk disk;
    Fixture f(1 << 20, &disk);
    f.writer.close();
    f.offer(1);
    f.keep(2);
    BOOST_TEST(f.writer.usage().segments == 0u);
    f.writer.stop();
    BOOST_TEST(disk.list(std::nullopt, 10).empty());
}

BOOST_AUTO_TEST_CASE(without_a_disk_a_segment_is_sealed_and_in_memory) {
    Fixture f;
    f.offer(1);
    f.keep(2);
    f.writer.stop();
    BOOST_TEST(sealer.verify(key_of(1), f.memory.find(key_of(1))->view()).has_value());
    BOOST_TEST(!f.memory.contains(key_of(2)));
}

BOOST_AUTO_TEST_SUITE_END()
