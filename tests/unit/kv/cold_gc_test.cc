#include "kv/cold_gc.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>

#include "base/rng.h"
#include "keys.h"
#include "support/print.h"

using namespace exa;
using namespace exa::kv;
using std::chrono::seconds;

namespace {

constexpr std::uint64_t mib = 1 << 20;
constexpr TimePoint start{seconds{100}};

WallTime wall(std::int64_t s) {
    return {(1'800'000'000 + s) * 1'000'000};
}

std::vector<PeerId> peers(std::uint64_t count) {
    std::vector<PeerId> ids;
    for (std::uint64_t id = 1; id <= count; ++id) ids.push_back({id * 77});
    return ids;
}

// A directory of files of one size, numbered in the order of their last use.
struct Directory {
    explicit Directory(std::uint64_t files, std::uint64_t bytes = mib) {
        for (std::uint64_t number = 0; number < files; ++number) {
            const SegmentKey key = samples::key(number);
            folders[cold_folder(key)].push_back(
                {to_string(key), key, bytes, wall(0).unix_seconds() + static_cast<std::int64_t>(number)});
        }
    }
    std::uint64_t bytes() const {
        std::uint64_t sum = 0;
        for (const auto& [number, files] : folders)
            for (const ColdFile& file : files) sum += file.bytes;
        return sum;
    }
    void remove(std::uint32_t folder, const std::string& name) {
        BOOST_TEST(std::erase_if(folders[folder], [&](const ColdFile& file) { return file.name == name; }) == 1U);
    }

    std::map<std::uint32_t, std::vector<ColdFile>> folders;
};

// Once through all of its folders; how many were looked at.
std::size_t go_round(ColdGc& gc, Directory& directory, TimePoint& now, std::size_t folders = cold_folders) {
    std::size_t looked_at = 0;
    for (; looked_at < folders; ++looked_at) {
        now = std::max(now, gc.next_timeout());
        const auto folder = gc.next(now);
        BOOST_REQUIRE(folder.has_value());
        for (const std::string& name : gc.handle_listing(wall(1'000'000), *folder, directory.folders[*folder]))
            directory.remove(*folder, name);
    }
    return looked_at;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cold_gc)

BOOST_AUTO_TEST_CASE(a_key_names_its_folder_by_its_first_three_digits) {
    SegmentKey key;
    key.bytes[0] = 0xab;
    key.bytes[1] = 0xcd;
    BOOST_TEST(cold_folder(key) == 0xabcU);
    BOOST_TEST(to_string(key).substr(0, 3) == "abc");
}

BOOST_AUTO_TEST_CASE(each_folder_has_one_peer_and_a_change_moves_only_what_it_must) {
    const auto mine = [](std::uint64_t self, const std::vector<PeerId>& all) {
        ColdGc gc(PeerId{self * 77}, {.capacity_bytes = mib});
        gc.handle_peers(start, all);
        std::set<std::uint32_t> folders;
        TimePoint now = start;
        for (std::uint32_t i = gc.folders(); i > 0; --i) {
            now = gc.next_timeout();
            folders.insert(*gc.next(now));
        }
        BOOST_TEST(folders.size() == gc.folders());
        return folders;
    };
    std::map<std::uint32_t, std::uint64_t> carers;
    for (std::uint64_t self = 1; self <= 5; ++self) {
        const auto folders = mine(self, peers(5));
        BOOST_TEST(folders.size() > cold_folders / 7);
        for (const std::uint32_t folder : folders) BOOST_TEST(carers.emplace(folder, self).second);
    }
    BOOST_TEST(carers.size() == cold_folders);
    for (std::uint64_t self = 1; self <= 4; ++self)
        for (const std::uint32_t folder : mine(self, peers(4)))
            BOOST_TEST((carers[folder] == self || carers[folder] == 5U), carers[folder]);
}

BOOST_AUTO_TEST_CASE(a_peer_outside_the_group_cleans_up_nothing) {
    ColdGc gc(PeerId{5}, {.capacity_bytes = mib});
    BOOST_TEST(gc.next_timeout() == time_never);
    gc.handle_peers(start, peers(3));
    BOOST_TEST(gc.next_timeout() == time_never);
    BOOST_TEST(!gc.next(start + seconds{1000}).has_value());
    gc.handle_peers(start, {PeerId{5}});
    BOOST_TEST(gc.folders() == cold_folders);
    BOOST_TEST(gc.next_timeout() == start);
    gc.handle_peers(start, {});
    BOOST_TEST(gc.next_timeout() == time_never);
}

BOOST_AUTO_TEST_CASE(the_oldest_files_go_down_to_the_low_water_mark) {
    Directory directory(20'000);
    ColdGc gc(PeerId{77}, {.capacity_bytes = 16'000 * mib});
    gc.handle_peers(start, peers(1));
    TimePoint now = start;
    for (int round = 0; round < 3; ++round) go_round(gc, directory, now);
    BOOST_TEST(directory.bytes() <= 15'300 * mib);
    BOOST_TEST(directory.bytes() >= 14'900 * mib);
    BOOST_TEST(gc.bytes() == directory.bytes());
    BOOST_TEST(gc.files() * mib == directory.bytes());
    // Folders of five files are coarse: most of the oldest have gone, and none of the newest.
    std::size_t old_left = 0;
    for (const auto& [number, files] : directory.folders)
        for (const ColdFile& file : files) old_left += file.used_s < wall(2'000).unix_seconds() ? 1 : 0;
    BOOST_TEST(old_left < 500U);
    const std::uint64_t before = directory.bytes();
    go_round(gc, directory, now);
    BOOST_TEST(directory.bytes() == before);
}

BOOST_AUTO_TEST_CASE(peers_keep_the_capacity_together_each_in_its_folders) {
    Directory directory(20'000);
    std::vector<ColdGc> carers;
    for (const PeerId peer : peers(3)) {
        carers.emplace_back(peer, ColdGcConfig{.capacity_bytes = 10'000 * mib});
        carers.back().handle_peers(start, peers(3));
    }
    TimePoint now = start;
    for (int round = 0; round < 3; ++round)
        for (ColdGc& gc : carers) go_round(gc, directory, now, gc.folders());
    BOOST_TEST(directory.bytes() <= 10'000 * mib);
    BOOST_TEST(directory.bytes() >= 9'000 * mib);
}

BOOST_AUTO_TEST_CASE(a_round_is_paced_and_hurries_when_there_may_be_too_much) {
    Directory directory(1'000);
    ColdGc gc(PeerId{77}, {.capacity_bytes = 1'100 * mib, .round = seconds{300}, .full_round = seconds{20}});
    gc.handle_peers(start, peers(1));
    TimePoint now = start;
    go_round(gc, directory, now);
    BOOST_TEST(now - start > seconds{290});
    BOOST_TEST(now - start < seconds{301});
    const TimePoint second = now;
    gc.handle_written(200 * mib);
    go_round(gc, directory, now, 1'000);
    BOOST_TEST(now - second < seconds{6});
    BOOST_TEST(directory.bytes() == 1'000 * mib);
    // What was missed is not made up for.
    now += seconds{10'000};
    BOOST_TEST(gc.next(now).has_value());
    BOOST_TEST(!gc.next(now).has_value());
}

BOOST_AUTO_TEST_CASE(leftovers_go_when_they_are_old_and_count_for_nothing) {
    ColdGc gc(PeerId{77}, {.capacity_bytes = mib, .leftover_s = 3600});
    gc.handle_peers(start, peers(1));
    const auto folder = gc.next(start);
    const auto file = [](const char* name, std::int64_t used) {
        return ColdFile{name, std::nullopt, 100 * mib, wall(used).unix_seconds()};
    };
    const auto gone = gc.handle_listing(wall(4000), *folder, {file(".new-1", 0), file(".new-2", 3000)});
    BOOST_TEST(gone == std::vector<std::string>{".new-1"}, boost::test_tools::per_element());
    BOOST_TEST(gc.bytes() == 0U);
}

BOOST_AUTO_TEST_CASE(a_folder_of_another_peer_is_left_alone) {
    Directory directory(5'000);
    ColdGc gc(PeerId{77}, {.capacity_bytes = mib});
    gc.handle_peers(start, peers(1));
    const auto folder = gc.next(start);
    gc.handle_peers(start, {PeerId{1}});
    BOOST_TEST(gc.handle_listing(wall(0), *folder, directory.folders[*folder]).empty());
    BOOST_TEST(gc.bytes() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
