#include "app/resp/write_behind.h"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <string>

#include "support/print.h"
#include "unit/app/resp/parts.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::kv;
using namespace exa::app::resp;
using namespace exa::app::test;

namespace {

struct Fixture : RespPartsFixture {
    explicit Fixture(io::store::SegmentStore* disk = nullptr, KvPeers* peers = nullptr,
                     std::uint64_t queue_bytes_max = 1 << 20)
        : RespPartsFixture(disk, peers), writer({queue_bytes_max, 1}, deps, cache, counters) {}

    RespWriteBehind::Done done() {
        return [this](const exa::resp::Outcome&) { ++answered; };
    }

    std::atomic<int> answered = 0;
    RespWriteBehind writer;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(resp_write_behind)

BOOST_AUTO_TEST_CASE(a_write_is_answered_before_it_is_on_the_disk) {
    FakeDisk disk;
    Fixture f(&disk);
    disk.hold_writes(true);
    const auto version = f.write("a", "1");
    f.writer.add(version, f.done());
    BOOST_TEST(f.answered == 1);
    BOOST_TEST(f.writer.queued_bytes() == version.bytes);
    BOOST_TEST(!disk.find(user_key_of("a")).has_value());
    disk.hold_writes(false);
    f.writer.stop();
    BOOST_TEST(disk.find(user_key_of("a"))->stamp == version.stamp);
    BOOST_TEST(f.writer.queued_bytes() == 0u);
    BOOST_TEST(f.cache.usage().waiting_values == 0u);
    BOOST_TEST(f.counters.stored == 1u);
}

BOOST_AUTO_TEST_CASE(what_was_written_over_is_not_stored_and_its_bytes_wait_until_its_turn) {
    FakeDisk disk;
    Fixture f(&disk);
    disk.hold_writes(true);
    const auto blocker = f.write("blocker", "x");
    f.writer.add(blocker, f.done());
    const auto first = f.write("a", "1");
    f.writer.add(first, f.done());
    const auto second = f.write("a", "2");
    f.writer.add(second, f.done());
    BOOST_TEST(f.counters.overwritten == 1u);
    BOOST_TEST(f.writer.queued_bytes() == blocker.bytes + first.bytes + second.bytes);
    disk.hold_writes(false);
    f.writer.stop();
    BOOST_TEST(disk.find(user_key_of("a"))->stamp == second.stamp);
    BOOST_TEST(f.counters.stored == 2u);
}

BOOST_AUTO_TEST_CASE(past_the_bound_a_write_is_answered_when_there_is_room) {
    FakeDisk disk;
    Fixture f(&disk, nullptr, 1000);
    disk.hold_writes(true);
    f.writer.add(f.write("a", std::string(600, 'x')), f.done());
    f.writer.add(f.write("b", std::string(600, 'x')), f.done());
    BOOST_TEST(f.answered == 1);
    // A removal is not made to wait.
    f.writer.add(f.cache.remove(user_key_of("a"), 3, 0), nullptr);
    disk.hold_writes(false);
    f.writer.stop();
    BOOST_TEST(f.answered == 2);
}

BOOST_AUTO_TEST_CASE(a_value_larger_than_the_bound_is_answered_once_it_is_stored) {
    FakeDisk disk;
    Fixture f(&disk, nullptr, 100);
    f.writer.add(f.write("a", std::string(600, 'x')), f.done());
    f.writer.stop();
    BOOST_TEST(f.answered == 1);
    BOOST_TEST(disk.find(user_key_of("a")).has_value());
}

BOOST_AUTO_TEST_CASE(owners_are_offered_every_part_sealed_the_first_last) {
    FakeDisk disk;
    AskedPeers peers;
    Fixture f(&disk, &peers);
    const auto version = f.cache.write(user_key_of("a"), f.version("a", {"1", "2"}), 0);
    f.writer.add(version, f.done());
    f.writer.stop();
    const auto offered = peers.offered();
    BOOST_TEST_REQUIRE(offered.size() == 2u);
    BOOST_TEST(offered[0] == (std::pair{version.keys[1], true}));
    BOOST_TEST(offered[1] == (std::pair{version.keys[0], true}));
}

BOOST_AUTO_TEST_CASE(what_the_disk_refuses_takes_the_older_version_with_it) {
    FakeDisk disk;
    AskedPeers peers;
    Fixture f(&disk, &peers);
    disk.keep(f.sealed_parts("a", {"old"}, 5).front());
    disk.full = true;
    f.writer.add(f.write("a", "new"), f.done());
    f.writer.stop();
    BOOST_TEST(!disk.find(user_key_of("a")).has_value());
    BOOST_TEST(f.counters.refused == 1u);
    // Its owners may have room.
    BOOST_TEST(peers.offered().size() == 1u);
    BOOST_TEST(text_of(f.cache.find_value(user_key_of("a"), 0).value) == "new");
}

BOOST_AUTO_TEST_CASE(without_a_disk_a_write_goes_to_the_owners_within_the_call) {
    AskedPeers peers;
    Fixture f(nullptr, &peers);
    f.writer.add(f.write("a", "1"), f.done());
    BOOST_TEST(f.answered == 1);
    BOOST_TEST(peers.offered().size() == 1u);
    BOOST_TEST(f.writer.queued_bytes() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
