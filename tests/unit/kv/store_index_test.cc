#include "kv/store_index.h"
#include "support/print.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

using namespace exa;
using namespace exa::kv;

namespace {

constexpr std::uint64_t mib = 1 << 20;
constexpr std::uint64_t alice = 1, bob = 2;

WallTime at(std::int64_t seconds) {
    return {(1'800'000'000 + seconds) * 1'000'000};
}

SegmentKey key(std::uint32_t n) {
    SegmentKey key;
    for (std::size_t i = 0; i < 4; ++i) key.bytes[i] = static_cast<std::uint8_t>(n >> (8 * i));
    return key;
}

StoreEntry entry(std::uint32_t n, std::uint64_t tenant = alice, std::uint64_t bytes = mib) {
    StoreEntry entry;
    entry.key = key(n);
    entry.tenant = tenant;
    entry.place = n;
    entry.bytes = static_cast<std::uint32_t>(bytes);
    return entry;
}

StoreEntry value(std::uint32_t n, std::uint64_t stamp) {
    StoreEntry value = entry(n);
    value.kind = SegmentKind::value;
    value.stamp = stamp;
    return value;
}

StoreLimits limits(std::uint64_t capacity) {
    StoreLimits limits;
    limits.capacity_bytes = capacity;
    limits.high_water = 1.0;
    limits.low_water = 1.0;
    return limits;
}

// The numbers of those who had to go.
std::vector<std::uint64_t> put(StoreIndex& index, WallTime now, StoreEntry entry,
                               Admission expected = Admission::admitted) {
    std::vector<StoreEntry> gone;
    entry.last_use_s = static_cast<std::uint32_t>(now.unix_seconds());
    BOOST_TEST(index.admit(now, entry, gone) == expected);
    if (expected == Admission::admitted) index.commit(entry);
    std::vector<std::uint64_t> places;
    for (const StoreEntry& one : gone) places.push_back(one.place);
    return places;
}

using Places = std::vector<std::uint64_t>;

}  // namespace

BOOST_AUTO_TEST_SUITE(store_index)

BOOST_AUTO_TEST_CASE(the_least_recently_used_goes_first) {
    StoreIndex index(limits(3 * mib));
    for (std::uint32_t n = 1; n <= 3; ++n) BOOST_TEST(put(index, at(n), entry(n)).empty());
    BOOST_TEST(index.use(at(4), key(1)).has_value());
    BOOST_TEST(put(index, at(5), entry(4)) == Places{2});
    BOOST_TEST(put(index, at(6), entry(5)) == Places{3});
    BOOST_TEST(put(index, at(7), entry(6)) == Places{1});
    BOOST_TEST(index.physical_bytes() == 3 * mib);
}

BOOST_AUTO_TEST_CASE(small_entries_count_as_whole_blocks) {
    StoreIndex index(limits(3 * segment_block));
    for (std::uint32_t n = 1; n <= 3; ++n) BOOST_TEST(put(index, at(0), entry(n, alice, 200)).empty());
    BOOST_TEST(index.physical_bytes() == 3 * segment_block);
    BOOST_TEST(index.sealed_bytes() == 600u);
    BOOST_TEST(put(index, at(0), entry(4, alice, 4097)) == (Places{1, 2}));
}

BOOST_AUTO_TEST_CASE(overhead_takes_room_from_entries) {
    StoreIndex index(limits(3 * mib));
    index.set_overhead(mib);
    put(index, at(0), entry(1));
    put(index, at(0), entry(2));
    BOOST_TEST(put(index, at(0), entry(3)) == Places{1});
    index.set_overhead(3 * mib);
    put(index, at(0), entry(4), Admission::no_room);
}

BOOST_AUTO_TEST_CASE(a_capacity_that_shrinks_is_reached_again) {
    StoreIndex index(limits(10 * mib));
    for (std::uint32_t n = 0; n < 10; ++n) put(index, at(0), entry(n));
    index.set_capacity(4 * mib);
    std::vector<StoreEntry> gone;
    index.make_room(at(0), 100, gone);
    BOOST_TEST(gone.size() == 6u);
    BOOST_TEST(put(index, at(0), entry(10)) == Places{6});
    put(index, at(0), entry(11, alice, 5 * mib), Admission::no_room);
}

BOOST_AUTO_TEST_CASE(an_entry_larger_than_the_store_is_refused) {
    StoreIndex index(limits(3 * mib));
    put(index, at(0), entry(1));
    BOOST_TEST(put(index, at(0), entry(2, alice, 4 * mib), Admission::no_room).empty());
    BOOST_TEST(index.size() == 1u);
}

BOOST_AUTO_TEST_CASE(crossing_the_high_mark_evicts_in_steps_to_the_low_mark) {
    StoreLimits some = limits(100 * mib);
    some.high_water = 0.9;
    some.low_water = 0.8;
    StoreIndex index(some);
    for (std::uint32_t n = 0; n < 90; ++n) BOOST_TEST(put(index, at(0), entry(n)).empty());
    BOOST_TEST(put(index, at(0), entry(90)).size() == 3u);
    // Two go for each that comes, until ten are free.
    for (std::uint32_t n = 91; n < 99; ++n) BOOST_TEST(put(index, at(0), entry(n)).size() == 2u);
    BOOST_TEST(index.physical_bytes() == 80 * mib);
    BOOST_TEST(put(index, at(0), entry(99)).size() == 1u);
    for (std::uint32_t n = 100; n < 110; ++n) BOOST_TEST(put(index, at(0), entry(n)).empty());
}

BOOST_AUTO_TEST_CASE(make_room_reaches_the_low_mark_with_no_put) {
    StoreLimits some = limits(100 * mib);
    some.high_water = 0.9;
    some.low_water = 0.8;
    StoreIndex index(some);
    for (std::uint32_t n = 0; n < 90; ++n) put(index, at(0), entry(n));
    std::vector<StoreEntry> gone;
    index.make_room(at(0), 1000, gone);
    BOOST_TEST(gone.empty());
    index.set_overhead(mib);
    index.make_room(at(0), 4, gone);
    BOOST_TEST(gone.size() == 4u);
    index.make_room(at(0), 1000, gone);
    BOOST_TEST(gone.size() == 11u);
    BOOST_TEST(index.physical_bytes() == 80 * mib);
}

BOOST_AUTO_TEST_CASE(a_tenant_over_its_quota_drops_its_own) {
    StoreIndex index(limits(100 * mib));
    index.set_quota(alice, 2 * mib);
    put(index, at(0), entry(1, bob));
    put(index, at(1), entry(2, alice));
    put(index, at(2), entry(3, alice));
    BOOST_TEST(put(index, at(3), entry(4, alice)) == Places{2});
    BOOST_TEST(index.tenant_bytes(alice) == 2 * mib);
    BOOST_TEST(put(index, at(3), entry(5, alice, 3 * mib), Admission::over_quota).empty());
    index.set_quota(alice, mib);
    std::vector<StoreEntry> gone;
    index.make_room(at(4), 100, gone);
    BOOST_TEST(gone.size() == 1u);
    BOOST_TEST(index.tenant_bytes(alice) == mib);
}

BOOST_AUTO_TEST_CASE(puts_under_way_count_against_the_quota) {
    StoreIndex index(limits(100 * mib));
    index.set_quota(alice, 2 * mib);
    std::vector<StoreEntry> gone;
    BOOST_TEST(index.admit(at(0), entry(1), gone) == Admission::admitted);
    BOOST_TEST(index.admit(at(0), entry(2), gone) == Admission::admitted);
    BOOST_TEST(index.admit(at(0), entry(3), gone) == Admission::over_quota);
    index.abort(entry(1));
    BOOST_TEST(index.admit(at(0), entry(3), gone) == Admission::admitted);
    BOOST_TEST(gone.empty());
}

BOOST_AUTO_TEST_CASE(a_leased_entry_stays_until_its_lease_ends) {
    StoreIndex index(limits(2 * mib));
    put(index, at(0), entry(1));
    put(index, at(0), entry(2));
    BOOST_TEST(index.lease(at(1), key(1)));
    BOOST_TEST(index.use(at(2), key(2)).has_value());
    BOOST_TEST(put(index, at(3), entry(3)) == Places{2});
    BOOST_TEST(index.leases() == 1u);
    BOOST_TEST(put(index, at(7), entry(4)) == Places{1});
    BOOST_TEST(index.leases() == 0u);
    BOOST_TEST(!index.lease(at(7), key(1)));
}

BOOST_AUTO_TEST_CASE(a_store_full_of_leases_refuses) {
    StoreIndex index(limits(2 * mib));
    for (std::uint32_t n = 1; n <= 2; ++n) {
        put(index, at(0), entry(n));
        index.lease(at(0), key(n));
    }
    BOOST_TEST(put(index, at(1), entry(3), Admission::no_room).empty());
    BOOST_TEST(index.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_tenant_has_only_so_many_leases) {
    StoreLimits some = limits(100 * mib);
    some.leases_per_tenant_max = 3;
    StoreIndex index(some);
    for (std::uint32_t n = 0; n < 10; ++n) put(index, at(0), entry(n));
    put(index, at(0), entry(10, bob));
    for (std::uint32_t n = 0; n < 11; ++n) BOOST_TEST(index.lease(at(0), key(n)));
    BOOST_TEST(index.leases() == 4u);
    index.erase(key(0));
    BOOST_TEST(index.leases() == 3u);
    BOOST_TEST(index.lease(at(0), key(9)));
    BOOST_TEST(index.leases() == 4u);
}

BOOST_AUTO_TEST_CASE(a_lease_that_is_renewed_lasts_longer_and_counts_once) {
    StoreIndex index(limits(mib));
    put(index, at(0), entry(1));
    for (std::int64_t second = 0; second < 60; ++second) BOOST_TEST(index.lease(at(second), key(1)));
    BOOST_TEST(index.leases() == 1u);
    put(index, at(61), entry(2), Admission::no_room);
    BOOST_TEST(put(index, at(65), entry(2)) == Places{1});
}

BOOST_AUTO_TEST_CASE(a_clock_that_is_set_back_ends_leases_instead_of_stretching_them) {
    StoreIndex index(limits(mib));
    put(index, at(0), entry(1));
    index.lease(at(1000), key(1));
    BOOST_TEST(put(index, at(0), entry(2)) == Places{1});
    BOOST_TEST(index.leases() == 0u);
}

BOOST_AUTO_TEST_CASE(time_to_live_counts_from_the_last_use) {
    StoreLimits some = limits(100 * mib);
    some.ttl_s = 100;
    StoreIndex index(some);
    put(index, at(0), entry(1));
    put(index, at(0), entry(2));
    BOOST_TEST(index.use(at(100), key(1)).has_value());
    BOOST_TEST(!index.find(at(101), key(2)).has_value());
    BOOST_TEST(!index.use(at(101), key(2)).has_value());
    BOOST_TEST(!index.lease(at(101), key(2)));
    std::vector<StoreEntry> gone;
    index.make_room(at(101), 100, gone);
    BOOST_TEST(gone.size() == 1u);
    BOOST_TEST(index.find(at(200), key(1)).has_value());
    BOOST_TEST(!index.find(at(201), key(1)).has_value());
}

BOOST_AUTO_TEST_CASE(an_expiry_of_its_own_counts_whatever_the_use) {
    StoreIndex index(limits(100 * mib));
    StoreEntry some = value(1, 5);
    some.expires_s = static_cast<std::uint32_t>(at(10).unix_seconds());
    put(index, at(0), some);
    BOOST_TEST(index.use(at(9), key(1)).has_value());
    BOOST_TEST(!index.use(at(10), key(1)).has_value());
    BOOST_TEST(put(index, at(11), value(1, 4)) == Places{1});
    std::vector<StoreEntry> gone;
    index.make_room(at(50), 100, gone);
    BOOST_TEST(gone.empty());
}

BOOST_AUTO_TEST_CASE(a_segment_is_present_and_a_value_gives_way_to_a_later_one) {
    StoreIndex index(limits(100 * mib));
    put(index, at(0), entry(1));
    put(index, at(0), entry(1), Admission::present);
    put(index, at(0), value(2, 7));
    put(index, at(0), value(2, 7), Admission::present);
    put(index, at(0), value(2, 6), Admission::present);
    StoreEntry later = value(2, 8);
    later.place = 20;
    std::vector<StoreEntry> gone;
    BOOST_TEST(index.admit(at(0), later, gone) == Admission::admitted);
    BOOST_TEST(index.find(at(0), key(2))->place == 2u);
    BOOST_TEST(index.commit(later)->place == 2u);
    BOOST_TEST(index.find(at(0), key(2))->place == 20u);
    BOOST_TEST(index.physical_bytes() == 2 * mib);
}

BOOST_AUTO_TEST_CASE(of_two_writers_of_one_key_the_loser_comes_back) {
    StoreIndex index(limits(100 * mib));
    std::vector<StoreEntry> gone;
    StoreEntry first = entry(1), second = entry(1);
    second.place = 11;
    BOOST_TEST(index.admit(at(0), first, gone) == Admission::admitted);
    BOOST_TEST(index.admit(at(0), second, gone) == Admission::admitted);
    BOOST_TEST(!index.commit(second).has_value());
    BOOST_TEST(index.commit(first)->place == 1u);
    BOOST_TEST(index.stands(key(1), 11));
    BOOST_TEST(index.physical_bytes() == mib);
}

BOOST_AUTO_TEST_CASE(restored_entries_go_in_the_order_of_their_use) {
    StoreIndex index(limits(3 * mib));
    for (const std::uint32_t n : {2u, 3u, 1u}) {
        StoreEntry some = entry(n);
        some.last_use_s = 1'800'000'000 + n;
        index.restore(some);
    }
    index.order_by_use();
    BOOST_TEST(put(index, at(9), entry(4)) == Places{1});
    BOOST_TEST(put(index, at(9), entry(5)) == Places{2});
}

BOOST_AUTO_TEST_CASE(a_use_is_written_down_at_most_once_a_minute) {
    StoreIndex index(limits(3 * mib));
    put(index, at(0), entry(1));
    put(index, at(0), entry(2));
    for (std::int64_t second = 0; second < 60; ++second) index.use(at(second), key(1));
    BOOST_TEST(index.take_touched(100).empty());
    index.use(at(60), key(1));
    index.use(at(61), key(1));
    const auto touched = index.take_touched(100);
    BOOST_TEST_REQUIRE(touched.size() == 1u);
    BOOST_TEST(touched[0].last_use_s == 1'800'000'061u);
    BOOST_TEST(index.take_touched(100).empty());
    index.use(at(200), key(2));
    index.erase(key(2));
    BOOST_TEST(index.take_touched(100).empty());
}

BOOST_AUTO_TEST_CASE(a_tenant_without_entries_is_forgotten_but_its_quota_is_not) {
    StoreIndex index(limits(100 * mib));
    index.set_quota(alice, 2 * mib);
    put(index, at(0), entry(1, alice));
    put(index, at(0), entry(2, bob));
    index.erase(key(1));
    index.erase(key(2));
    BOOST_TEST(index.tenant_bytes(bob) == 0u);
    put(index, at(0), entry(3, alice, 3 * mib), Admission::over_quota);
    put(index, at(0), entry(4, bob, 3 * mib));
}

BOOST_AUTO_TEST_CASE(next_to_go_names_unpersisted_entries_oldest_first) {
    StoreIndex index(limits(10 * mib));
    for (std::uint32_t n = 1; n <= 8; ++n) put(index, at(n), n == 2 ? value(n, 1) : entry(n));
    const auto named = [&](std::uint64_t lead, std::size_t count = 10) {
        Places places;
        for (const StoreEntry& one : index.next_to_go(at(10), lead, 0, count)) places.push_back(one.place);
        return places;
    };
    BOOST_TEST(named(2 * mib).empty());
    // Two would go for four more; one of them is a value.
    BOOST_TEST(named(4 * mib) == Places{1});
    BOOST_TEST(named(6 * mib) == (Places{1, 3, 4}));
    BOOST_TEST(named(6 * mib, 2) == (Places{1, 3}));
    index.mark_persisted(key(1));
    index.mark_persisted(key(3));
    index.mark_persisted(key(99));
    BOOST_TEST(named(6 * mib) == Places{4});
    index.use(at(11), key(4));
    BOOST_TEST(named(6 * mib) == Places{5});
}

BOOST_AUTO_TEST_CASE(what_ends_soon_or_is_over_its_quota_is_next_to_go) {
    StoreLimits some = limits(100 * mib);
    some.ttl_s = 1000;
    StoreIndex index(some);
    put(index, at(0), entry(1));
    put(index, at(500), entry(2));
    const auto named = [&](std::int64_t now, std::uint32_t lead_s) {
        Places places;
        for (const StoreEntry& one : index.next_to_go(at(now), 16 * mib, lead_s, 10)) places.push_back(one.place);
        return places;
    };
    BOOST_TEST(named(800, 100).empty());
    BOOST_TEST(named(800, 300) == Places{1});
    for (std::uint32_t n = 3; n <= 20; ++n) put(index, at(801), entry(n, bob));
    index.set_quota(bob, 18 * mib);
    BOOST_TEST(named(802, 0) == (Places{3, 4}));
}

BOOST_AUTO_TEST_CASE(evicted_unpersisted_segments_are_counted) {
    StoreIndex index(limits(3 * mib));
    for (std::uint32_t n = 1; n <= 3; ++n) put(index, at(n), entry(n));
    index.mark_persisted(key(1));
    put(index, at(4), entry(4));
    BOOST_TEST(index.evicted_unpersisted() == 0U);
    put(index, at(5), entry(5));
    BOOST_TEST(index.evicted_unpersisted() == 1U);
    // One that comes again is to be persisted again.
    put(index, at(6), entry(1));
    BOOST_TEST(index.evicted_unpersisted() == 2U);
    for (std::uint32_t n = 6; n <= 8; ++n) put(index, at(n + 1), entry(n));
    BOOST_TEST(index.evicted_unpersisted() == 5U);
}

BOOST_AUTO_TEST_SUITE_END()
