#include "io/store/segment_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <thread>
#include <vector>

#include "io/errc.h"
#include "store_support.h"
#include "support/print.h"

using namespace exa;
using namespace exa::io;
using namespace exa::io::test;

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t mib = 1 << 20;

store::StoreConfig config_in(const TemporaryDirectory& directory) {
    store::StoreConfig config;
    config.directory = directory.path() / "store";
    config.capacity_bytes = 64 * mib;
    return config;
}

std::unique_ptr<store::SegmentStore> opened(const store::StoreConfig& config, WallTime now = at(0)) {
    auto store = store::SegmentStore::open(config, sealer, now, no_log);
    if (store.has_error()) BOOST_FAIL(store.error().message());
    return std::move(store).value();
}

store::PutOutcome put(store::SegmentStore& store, const kv::SealedSegment& segment, WallTime now = at(0)) {
    return store.put(now, std::span(&segment, 1)).at(0);
}

bool holds(store::SegmentStore& store, std::uint64_t n, std::size_t payload = 100'000) {
    const auto found = store.get(at(0), key_of(n));
    if (found) BOOST_TEST(equal(found, segment(n, payload)));
    return found != nullptr;
}

// Changes one byte in each of the volumes' places that hold `needle`'s header.
std::size_t damage(const fs::path& directory, const kv::SealedSegment& needle, std::size_t at_byte) {
    std::size_t damaged = 0;
    for (const auto& file : fs::directory_iterator(directory / "volumes")) {
        std::fstream volume(file.path(), std::ios::in | std::ios::out | std::ios::binary);
        const auto size = fs::file_size(file.path());
        for (std::uint64_t offset = 0; offset + 64 <= size; offset += 4096) {
            std::array<char, 64> head{};
            volume.seekg(static_cast<std::streamoff>(offset));
            volume.read(head.data(), head.size());
            if (!std::equal(head.begin(), head.end(), reinterpret_cast<const char*>(needle->view().data()))) continue;
            volume.seekg(static_cast<std::streamoff>(offset + at_byte));
            const char old = static_cast<char>(volume.get());
            volume.seekp(static_cast<std::streamoff>(offset + at_byte));
            volume.put(static_cast<char>(old ^ 1));
            ++damaged;
        }
    }
    return damaged;
}

const std::array durabilities = {store::Durability::none, store::Durability::wal, store::Durability::sync};

std::ostream& print(std::ostream& out, store::Durability durability) {
    return out << static_cast<int>(durability);
}

}  // namespace

namespace exa::io {
std::ostream& operator<<(std::ostream& out, store::Durability durability) {
    return print(out, durability);
}
std::ostream& operator<<(std::ostream& out, store::PutOutcome outcome) {
    return out << static_cast<int>(outcome);
}
}  // namespace exa::io

BOOST_AUTO_TEST_SUITE(segment_store)

BOOST_DATA_TEST_CASE(what_was_put_is_got_before_and_after_a_restart, boost::unit_test::data::make(durabilities),
                     durability) {
    const TemporaryDirectory directory;
    store::StoreConfig config = config_in(directory);
    config.durability = durability;
    for (const bool direct : {true, false}) {
        config.direct_io = direct;
        const std::uint64_t first = direct ? 0 : 100;
        {
            const auto store = opened(config);
            std::vector<kv::SealedSegment> segments;
            for (std::uint64_t n = 0; n < 10; ++n) segments.push_back(segment(first + n, 1 + n * 50'000));
            for (const store::PutOutcome outcome : store->put(at(0), segments))
                BOOST_TEST(outcome == store::PutOutcome::stored);
            for (std::uint64_t n = 0; n < 10; ++n) BOOST_TEST(holds(*store, first + n, 1 + n * 50'000));
        }
        const auto store = opened(config);
        for (std::uint64_t n = 0; n < 10; ++n) BOOST_TEST(holds(*store, first + n, 1 + n * 50'000));
        BOOST_TEST(store->stats().corrupt == 0u);
        BOOST_TEST(store->stats().disk_errors == 0u);
    }
}

BOOST_AUTO_TEST_CASE(a_key_that_was_never_put_is_a_miss) {
    const TemporaryDirectory directory;
    const auto store = opened(config_in(directory));
    BOOST_TEST(!store->get(at(0), key_of(1)));
    BOOST_TEST(store->stats().misses == 1u);
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_segment_are_refused) {
    const TemporaryDirectory directory;
    const auto store = opened(config_in(directory));
    const auto junk = std::make_shared<kv::SegmentBuffer>(1000);
    std::ranges::fill(junk->bytes(), std::uint8_t{7});
    BOOST_TEST(put(*store, junk) == store::PutOutcome::refused_broken);
    BOOST_TEST(put(*store, nullptr) == store::PutOutcome::refused_broken);
    BOOST_TEST(store->stats().refused == 2u);
}

BOOST_AUTO_TEST_CASE(the_same_segment_is_present_and_a_later_value_replaces) {
    const TemporaryDirectory directory;
    const store::StoreConfig config = config_in(directory);
    {
        const auto store = opened(config);
        BOOST_TEST(put(*store, segment(1)) == store::PutOutcome::stored);
        BOOST_TEST(put(*store, segment(1)) == store::PutOutcome::present);
        BOOST_TEST(put(*store, value(2, 10)) == store::PutOutcome::stored);
        BOOST_TEST(put(*store, value(2, 9)) == store::PutOutcome::present);
        BOOST_TEST(put(*store, value(2, 11)) == store::PutOutcome::stored);
        BOOST_TEST(equal(store->get(at(0), key_of(2)), value(2, 11)));
        BOOST_TEST(store->stats().entries == 2u);
    }
    const auto store = opened(config);
    BOOST_TEST(equal(store->get(at(0), key_of(2)), value(2, 11)));
    BOOST_TEST(store->stats().entries == 2u);
}

BOOST_AUTO_TEST_CASE(a_full_store_drops_the_least_recently_used_and_stays_below_its_cap) {
    const TemporaryDirectory directory;
    const store::StoreConfig config = config_in(directory);
    const auto store = opened(config);
    for (std::uint64_t n = 0; n < 200; ++n) {
        BOOST_TEST(put(*store, segment(n, mib - 1000)) == store::PutOutcome::stored);
        BOOST_TEST(holds(*store, 0, mib - 1000));
        if (n % 10 == 0) store->maintain(at(0));
        BOOST_TEST(disk_usage(config.directory) <= config.capacity_bytes);
        BOOST_TEST(store->stats().physical_bytes <= config.capacity_bytes);
    }
    BOOST_TEST(store->stats().evicted >= 140u);
    BOOST_TEST(holds(*store, 199, mib - 1000));
    BOOST_TEST(!holds(*store, 1, mib - 1000));
    // What the store says is what the disk says, but for the room it keeps ready.
    BOOST_TEST(disk_usage(config.directory) + 16 * mib >= store->stats().physical_bytes);
}

BOOST_AUTO_TEST_CASE(erased_segments_give_their_room_back) {
    const TemporaryDirectory directory;
    const store::StoreConfig config = config_in(directory);
    const auto store = opened(config);
    std::vector<kv::SegmentKey> keys;
    for (std::uint64_t n = 0; n < 30; ++n) {
        put(*store, segment(n, mib - 1000));
        keys.push_back(key_of(n));
    }
    BOOST_TEST(disk_usage(config.directory) > 30 * mib);
    keys.push_back(key_of(1000));
    BOOST_TEST(store->erase(keys) == 30u);
    BOOST_TEST(disk_usage(config.directory) < 8 * mib);
    BOOST_TEST(!holds(*store, 3));
}

BOOST_AUTO_TEST_CASE(segments_larger_than_a_volume_are_kept) {
    const TemporaryDirectory directory;
    const store::StoreConfig config = config_in(directory);
    {
        const auto store = opened(config);
        BOOST_TEST(put(*store, segment(1, 20 * mib)) == store::PutOutcome::stored);
        BOOST_TEST(put(*store, segment(2, 1000)) == store::PutOutcome::stored);
        BOOST_TEST(put(*store, segment(3, 63 * mib)) == store::PutOutcome::refused_full);
    }
    const auto store = opened(config);
    BOOST_TEST(holds(*store, 1, 20 * mib));
    BOOST_TEST(holds(*store, 2, 1000));
}

BOOST_AUTO_TEST_CASE(a_tenant_stays_within_its_quota) {
    const TemporaryDirectory directory;
    const auto store = opened(config_in(directory));
    store->set_quota(7, 5 * mib);
    put(*store, segment(100, mib - 1000, 8));
    for (std::uint64_t n = 0; n < 20; ++n) {
        BOOST_TEST(put(*store, segment(n, mib - 1000, 7)) == store::PutOutcome::stored);
        BOOST_TEST(store->tenant_bytes(7) <= 5 * mib);
    }
    BOOST_TEST(put(*store, segment(50, 6 * mib, 7)) == store::PutOutcome::refused_quota);
    BOOST_TEST(store->get(at(0), key_of(100)) != nullptr);
}

BOOST_AUTO_TEST_CASE(asking_holds_what_is_there_for_a_while) {
    const TemporaryDirectory directory;
    const auto store = opened(config_in(directory));
    put(*store, segment(0, mib - 1000));
    put(*store, value(1, 5, 0));
    BOOST_TEST(store->has(at(0), key_of(0)));
    BOOST_TEST(!store->has(at(0), key_of(99)));
    BOOST_TEST(store->stats().leases == 1u);
    for (std::uint64_t n = 2; n < 100; ++n) put(*store, segment(n, mib - 1000), at(1));
    BOOST_TEST(store->get(at(2), key_of(0)) != nullptr);
}

BOOST_AUTO_TEST_CASE(a_lookup_tells_stamps_and_removals_and_holds_what_is_there) {
    const TemporaryDirectory directory;
    const auto store = opened(config_in(directory));
    put(*store, value(1, 5));
    kv::SegmentHead removal = head_of(2);
    removal.kind = kv::SegmentKind::tombstone;
    removal.stamp = 6;
    put(*store, sealed(removal, 0, 0));
    const std::vector<kv::SegmentKey> keys = {key_of(1), key_of(2), key_of(3)};
    const auto items = store->lookup(at(0), keys);
    BOOST_TEST_REQUIRE(items.size() == 3u);
    BOOST_TEST(items[0].stamp == 5u);
    BOOST_TEST(items[0].bytes > 0u);
    BOOST_TEST(items[1].bytes == 0u);
    BOOST_TEST(items[1].stamp == 6u);
    BOOST_TEST(items[2].key == key_of(3));
    BOOST_TEST(items[2].bytes == 0u);
    BOOST_TEST(store->stats().leases == 1u);
}

BOOST_AUTO_TEST_CASE(only_the_version_that_is_meant_is_erased) {
    const TemporaryDirectory directory;
    const auto store = opened(config_in(directory));
    put(*store, value(1, 5));
    BOOST_TEST(!store->erase_version(key_of(1), 4));
    BOOST_TEST(!store->erase_version(key_of(2), 5));
    BOOST_TEST(store->get(at(0), key_of(1)) != nullptr);
    BOOST_TEST(store->erase_version(key_of(1), 5));
    BOOST_TEST(store->get(at(0), key_of(1)) == nullptr);
    BOOST_TEST(put(*store, value(1, 5)) == store::PutOutcome::stored);
}

BOOST_AUTO_TEST_CASE(unused_segments_expire_across_a_restart) {
    const TemporaryDirectory directory;
    store::StoreConfig config = config_in(directory);
    config.ttl = std::chrono::seconds(1000);
    {
        const auto store = opened(config);
        put(*store, segment(1));
        put(*store, segment(2));
        BOOST_TEST(store->get(at(900), key_of(2)) != nullptr);
    }
    const auto store = opened(config, at(1500));
    BOOST_TEST(!store->get(at(1500), key_of(1)));
    BOOST_TEST(store->get(at(1500), key_of(2)) != nullptr);
    BOOST_TEST(store->stats().expired == 1u);
    BOOST_TEST(store->stats().entries == 1u);
}

BOOST_AUTO_TEST_CASE(the_order_of_use_survives_a_restart) {
    const TemporaryDirectory directory;
    const store::StoreConfig config = config_in(directory);
    {
        const auto store = opened(config);
        for (std::uint64_t n = 0; n < 40; ++n) put(*store, segment(n, mib - 1000), at(static_cast<std::int64_t>(n)));
        BOOST_TEST(store->get(at(500), key_of(0)) != nullptr);
    }
    const auto store = opened(config, at(600));
    for (std::uint64_t n = 100; n < 130; ++n) put(*store, segment(n, mib - 1000), at(600));
    BOOST_TEST(store->get(at(600), key_of(0)) != nullptr);
    BOOST_TEST(!store->get(at(600), key_of(1)));
}

BOOST_AUTO_TEST_CASE(a_changed_byte_anywhere_is_a_miss_and_leaves_the_store) {
    for (const std::size_t byte : {0u, 40u, 130u, 191u, 192u, 50'000u, 100'191u}) {
        const TemporaryDirectory directory;
        const store::StoreConfig config = config_in(directory);
        const auto store = opened(config);
        put(*store, segment(1));
        put(*store, segment(2));
        // A fresh life, so that no cache of the file system is asked.
        BOOST_TEST(damage(config.directory, segment(1), byte) == 1u);
        BOOST_TEST(!store->get(at(0), key_of(1)));
        BOOST_TEST(store->stats().corrupt == 1u);
        BOOST_TEST(store->stats().entries == 1u);
        BOOST_TEST(holds(*store, 2));
        BOOST_TEST(put(*store, segment(1)) == store::PutOutcome::stored);
        BOOST_TEST(holds(*store, 1));
    }
}

BOOST_AUTO_TEST_CASE(a_store_of_another_secret_gives_nothing) {
    const TemporaryDirectory directory;
    const store::StoreConfig config = config_in(directory);
    {
        const auto store = opened(config);
        put(*store, segment(1));
    }
    const kv::SegmentSealer foreign(openssl, as_bytes("another secret"));
    auto store = store::SegmentStore::open(config, foreign, at(0), no_log);
    BOOST_REQUIRE(store.has_value());
    BOOST_TEST(!store.value()->get(at(0), key_of(1)));
    BOOST_TEST(store.value()->stats().corrupt == 1u);
}

BOOST_AUTO_TEST_CASE(scrubbing_finds_and_drops_what_is_bad) {
    const TemporaryDirectory directory;
    const store::StoreConfig config = config_in(directory);
    const auto store = opened(config);
    for (std::uint64_t n = 0; n < 25; ++n) put(*store, segment(n));
    for (const std::uint64_t n : {3u, 17u}) BOOST_TEST(damage(config.directory, segment(n), 5'000) == 1u);
    std::uint64_t checked = 0, dropped = 0, calls = 0;
    std::optional<kv::SegmentKey> next;
    for (bool finished = false; !finished && calls < 10; ++calls) {
        const store::ScrubReport report = store->scrub(next, 10);
        checked += report.checked;
        dropped += report.dropped;
        next = report.next;
        finished = !next;
    }
    BOOST_TEST(checked == 25u);
    BOOST_TEST(dropped == 2u);
    BOOST_TEST(calls == 3u);
    BOOST_TEST(store->scrub(std::nullopt, 100).checked == 23u);
    BOOST_TEST(store->stats().corrupt == 2u);
}

BOOST_AUTO_TEST_CASE(listing_gives_every_entry_once_in_the_order_of_keys) {
    const TemporaryDirectory directory;
    const auto store = opened(config_in(directory));
    for (std::uint64_t n = 0; n < 25; ++n) put(*store, segment(n, 1000));
    put(*store, value(30, 1));
    put(*store, value(30, 2));
    std::vector<store::StoredInfo> all;
    for (std::optional<kv::SegmentKey> after;;) {
        const auto page = store->list(after, 7);
        if (page.empty()) break;
        after = page.back().key;
        all.insert(all.end(), page.begin(), page.end());
    }
    BOOST_TEST(all.size() == 26u);
    BOOST_TEST(std::ranges::is_sorted(all, {}, &store::StoredInfo::key));
    BOOST_TEST(std::ranges::count(all, 2u, &store::StoredInfo::stamp) == 1);
}

BOOST_AUTO_TEST_CASE(a_directory_belongs_to_one_store_at_a_time) {
    const TemporaryDirectory directory;
    const store::StoreConfig config = config_in(directory);
    auto store = opened(config);
    const auto second = store::SegmentStore::open(config, sealer, at(0), no_log);
    BOOST_REQUIRE(second.has_error());
    BOOST_TEST(second.error().code == errc::store_locked);
    BOOST_TEST(second.error().message().starts_with(config.directory.string()));
    store.reset();
    opened(config);
}

BOOST_AUTO_TEST_CASE(a_directory_that_cannot_be_and_limits_that_cannot_hold_are_named) {
    const TemporaryDirectory directory;
    store::StoreConfig config = config_in(directory);
    config.capacity_bytes = 1000;
    BOOST_TEST(store::SegmentStore::open(config, sealer, at(0), no_log).error().code == errc::store_config);
    config = config_in(directory);
    std::ofstream(config.directory) << "a file";
    BOOST_TEST(store::SegmentStore::open(config, sealer, at(0), no_log).error().code == errc::store_unusable);
}

BOOST_AUTO_TEST_CASE(a_damaged_index_is_put_aside_and_the_store_begins_empty) {
    const TemporaryDirectory directory;
    const store::StoreConfig config = config_in(directory);
    {
        const auto store = opened(config);
        put(*store, segment(1));
    }
    for (const auto& file : fs::directory_iterator(config.directory / "index"))
        if (file.path().filename().string().starts_with("MANIFEST")) std::ofstream(file.path()) << "not a manifest";
    const auto store = opened(config);
    BOOST_TEST(!holds(*store, 1));
    BOOST_TEST(put(*store, segment(1)) == store::PutOutcome::stored);
    BOOST_TEST(holds(*store, 1));
    // The bytes that nobody names any more are gone.
    BOOST_TEST(store->stats().entries == 1u);
}

BOOST_AUTO_TEST_CASE(volumes_that_are_missing_or_cut_are_misses) {
    const TemporaryDirectory directory;
    const store::StoreConfig config = config_in(directory);
    {
        const auto store = opened(config);
        for (std::uint64_t n = 0; n < 12; ++n) put(*store, segment(n, mib - 1000));
    }
    std::vector<fs::path> files;
    for (const auto& file : fs::directory_iterator(config.directory / "volumes")) files.push_back(file.path());
    std::ranges::sort(files);
    BOOST_TEST_REQUIRE(files.size() == 3u);
    fs::remove(files[0]);
    fs::resize_file(files[1], 2 * mib + 4096);
    const auto store = opened(config);
    BOOST_TEST(store->stats().entries == 6u);
    for (std::uint64_t n = 0; n < 12; ++n) BOOST_TEST(holds(*store, n, mib - 1000) == (n == 4 || n == 5 || n >= 8));
    BOOST_TEST(store->stats().corrupt == 0u);
}

BOOST_AUTO_TEST_CASE(many_threads_see_only_whole_segments) {
    const TemporaryDirectory directory;
    const store::StoreConfig config = config_in(directory);
    const auto store = opened(config);
    std::atomic<int> wrong = 0;
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (std::uint64_t n = 0; n < 60; ++n) {
                const std::uint64_t id = (n * 7 + t * 3) % 90;
                const kv::SealedSegment mine = segment(id, mib - 1000);
                store->put(at(0), std::span(&mine, 1));
                const auto found = store->get(at(0), mine ? key_of((id + t) % 90) : key_of(0));
                if (found && !equal(found, segment((id + t) % 90, mib - 1000))) ++wrong;
                if (n % 8 == t) store->maintain(at(0));
                if (n % 16 == t) store->scrub(std::nullopt, 5);
            }
        });
    }
    threads.clear();
    BOOST_TEST(wrong == 0);
    BOOST_TEST(store->stats().corrupt == 0u);
    BOOST_TEST(store->stats().physical_bytes <= config.capacity_bytes);
    BOOST_TEST(disk_usage(config.directory) <= config.capacity_bytes);
}

BOOST_AUTO_TEST_SUITE_END()
