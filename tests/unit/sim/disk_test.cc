#include "sim/disk/disk.h"

#include <boost/test/unit_test.hpp>

#include "sim/process/identity.h"
#include "support/print.h"

using namespace exa;
using namespace exa::sim;

BOOST_AUTO_TEST_SUITE(disk)

BOOST_AUTO_TEST_CASE(what_was_synced_survives_a_crash) {
    Disk disk(Rng(1));
    disk.write("a", Bytes{1, 2, 3});
    disk.sync();
    disk.crash();
    BOOST_TEST(disk.read("a") == (Bytes{1, 2, 3}));
}

BOOST_AUTO_TEST_CASE(what_was_not_synced_is_kept_lost_or_torn) {
    Disk disk(Rng(1));
    std::size_t kept = 0;
    for (int i = 0; i < 300; ++i) {
        disk.wipe();
        disk.write("a", Bytes(100, 7));
        BOOST_TEST(disk.read("a")->size() == 100U);
        disk.crash();
        const auto after = disk.read("a");
        if (after) BOOST_TEST(after->size() <= 100);
        if (after && after->size() == 100) ++kept;
    }
    BOOST_TEST(disk.effects().writes_lost > 50U);
    BOOST_TEST(disk.effects().writes_torn > 50U);
    BOOST_TEST(kept > 50U);
}

BOOST_AUTO_TEST_CASE(a_full_disk_leaves_the_file_as_it_was) {
    Disk disk(Rng(1));
    disk.write("a", Bytes{1});
    disk.faults().full = true;
    BOOST_TEST(!disk.write("a", Bytes{2}));
    BOOST_TEST(disk.read("a") == Bytes{1});
    BOOST_TEST(disk.effects().writes_refused == 1U);
}

BOOST_AUTO_TEST_CASE(a_lying_sync_keeps_nothing_through_a_crash) {
    bool lost = false;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Disk disk{Rng(seed)};
        disk.faults().lies = true;
        disk.write("a", Bytes{1, 2});
        disk.sync();
        disk.crash();
        lost = lost || !disk.read("a");
    }
    BOOST_TEST(lost);
}

BOOST_AUTO_TEST_CASE(every_start_has_a_generation_of_its_own_and_the_first_id) {
    Disk disk(Rng(1));
    const auto first = open_identity(disk, PeerId{5});
    BOOST_TEST(first.identity->id == PeerId{5});
    BOOST_TEST(first.identity->generation.value == 1U);
    disk.crash();
    const auto second = open_identity(disk, PeerId{6});
    BOOST_TEST(second.identity->id == PeerId{5});
    BOOST_TEST(second.identity->generation.value == 2U);
}

BOOST_AUTO_TEST_CASE(a_damaged_identity_is_no_identity) {
    Disk disk(Rng(1));
    open_identity(disk, PeerId{5});
    disk.faults().corrupt = true;
    BOOST_TEST(!open_identity(disk, PeerId{6}).identity.has_value());
    disk.faults().corrupt = false;
    disk.faults().full = true;
    BOOST_TEST(!open_identity(disk, PeerId{6}).identity.has_value());
    disk.faults().full = false;
    BOOST_TEST(open_identity(disk, PeerId{6}).identity->id == PeerId{5});
}

BOOST_AUTO_TEST_SUITE_END()
