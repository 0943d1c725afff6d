#include "io/store/index_db.h"

#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>

#include "scratch.h"
#include "support/print.h"

using namespace exa;
using namespace exa::io;
using namespace exa::io::store;
using namespace exa::io::store;

namespace {

struct Scratch : exa::test::Scratch {
    std::unique_ptr<IndexDb> open(Durability durability = Durability::wal) const {
        auto db = IndexDb::open(path, durability, true);
        if (db.has_error()) BOOST_FAIL(db.error().message());
        return std::move(db).value();
    }
};

kv::StoreEntry entry(std::uint8_t n, std::uint64_t place = 7) {
    kv::StoreEntry entry;
    entry.key.bytes.fill(n);
    entry.tenant = 0xfedcba9876543210 + n;
    entry.stamp = 0x0123456789abcdef + n;
    entry.place = place << 32 | n;
    entry.bytes = 1'000'000u + n;
    entry.last_use_s = 1'800'000'000u + n;
    entry.expires_s = 1'900'000'000u + n;
    entry.kind = kv::SegmentKind::value;
    return entry;
}

bool put(IndexDb& db, const kv::StoreEntry& entry) {
    return db.put(std::span(&entry, 1));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(index_db)

BOOST_AUTO_TEST_CASE(entries_come_back_whole_and_in_the_order_of_keys) {
    for (const Durability durability : {Durability::none, Durability::wal, Durability::sync}) {
        const Scratch scratch;
        {
            const auto db = scratch.open(durability);
            for (const auto n : std::array<std::uint8_t, 3>{3, 1, 2}) BOOST_TEST(put(*db, entry(n)));
            BOOST_TEST(db->flush());
        }
        const auto db = scratch.open(durability);
        BOOST_TEST(!db->rebuilt());
        BOOST_TEST(db->load() == (std::vector{entry(1), entry(2), entry(3)}));
    }
}

BOOST_AUTO_TEST_CASE(versions_of_one_key_are_written_and_deleted_each_for_itself) {
    const Scratch scratch;
    const auto db = scratch.open();
    put(*db, entry(1, 7));
    put(*db, entry(1, 8));
    const kv::StoreEntry old = entry(1, 7);
    BOOST_TEST(db->erase(std::span(&old, 1)));
    BOOST_TEST(db->load() == std::vector{entry(1, 8)});
}

BOOST_AUTO_TEST_CASE(a_page_begins_behind_its_key_and_has_its_length) {
    const Scratch scratch;
    const auto db = scratch.open();
    for (std::uint8_t n = 1; n <= 9; ++n) put(*db, entry(n));
    put(*db, entry(3, ~0u));
    BOOST_TEST(db->page(std::nullopt, 2) == (std::vector{entry(1), entry(2)}));
    BOOST_TEST(db->page(entry(3).key, 3) == (std::vector{entry(4), entry(5), entry(6)}));
    BOOST_TEST(db->page(entry(9).key, 3).empty());
}

BOOST_AUTO_TEST_CASE(a_refreshed_entry_has_its_new_time) {
    const Scratch scratch;
    {
        const auto db = scratch.open();
        put(*db, entry(1));
        kv::StoreEntry used = entry(1);
        used.last_use_s += 100;
        BOOST_TEST(db->refresh(std::span(&used, 1)));
    }
    const auto db = scratch.open();
    BOOST_TEST_REQUIRE(db->load().size() == 1u);
    BOOST_TEST(db->load()[0].last_use_s == entry(1).last_use_s + 100);
}

BOOST_AUTO_TEST_SUITE_END()
