#include "io/store/volumes.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <memory>
#include <vector>

#include "kv/segment_buffer.h"
#include "scratch.h"
#include "support/print.h"

using namespace exa;
using namespace exa::io::store;

namespace {

constexpr std::uint64_t kib = 1024;

struct Scratch : exa::test::Scratch {
    std::unique_ptr<Volumes> open(bool direct_io = true) const {
        auto volumes = Volumes::open(path, 64 * kib, direct_io);
        BOOST_REQUIRE(volumes.has_value());
        return std::move(volumes).value();
    }
    std::size_t files() const {
        return static_cast<std::size_t>(
            std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator()));
    }
};

Place append(Volumes& volumes, std::size_t size, std::uint8_t with) {
    kv::SegmentBuffer buffer(size);
    std::ranges::fill(buffer.blocks(), with);
    const auto place = volumes.append(buffer.blocks());
    BOOST_REQUIRE(place.has_value());
    return place.value();
}

bool reads(const Volumes& volumes, Place place, std::size_t size, std::uint8_t with) {
    kv::SegmentBuffer buffer(size);
    return volumes.read(place, buffer.blocks()) &&
           std::ranges::all_of(buffer.view(), [&](std::uint8_t byte) { return byte == with; });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(volumes)

BOOST_AUTO_TEST_CASE(what_was_appended_is_read_at_its_place) {
    for (const bool direct_io : {true, false}) {
        const Scratch scratch;
        const auto some = scratch.open(direct_io);
        std::vector<Place> places;
        for (std::uint8_t n = 1; n <= 20; ++n) places.push_back(append(*some, n * 1000u, n));
        for (std::uint8_t n = 1; n <= 20; ++n) BOOST_TEST(reads(*some, places[n - 1u], n * 1000u, n));
        BOOST_TEST(std::ranges::adjacent_find(places) == places.end());
        BOOST_TEST(scratch.files() == 5u);
    }
}

BOOST_AUTO_TEST_CASE(places_that_are_not_there_are_not_read) {
    const Scratch scratch;
    const auto some = scratch.open();
    append(*some, 8192, 1);
    kv::SegmentBuffer buffer(8192);
    BOOST_TEST(!some->read(Place{}, buffer.blocks()));
    BOOST_TEST(!some->read(Place{9ull << 32}, buffer.blocks()));
    BOOST_TEST(!some->read(Place{1ull << 32 | 1'000'000}, buffer.blocks()));
}

BOOST_AUTO_TEST_CASE(what_is_released_leaves_the_disk_and_an_empty_volume_its_directory) {
    const Scratch scratch;
    const auto some = scratch.open();
    std::vector<Place> places;
    for (std::uint8_t n = 0; n < 8; ++n) places.push_back(append(*some, 32 * kib, n));
    BOOST_TEST(scratch.files() == 4u);
    BOOST_TEST(some->measure() == 256 * kib);
    some->release(places[0], 32 * kib);
    BOOST_TEST(some->measure() == 224 * kib);
    some->release(places[1], 32 * kib);
    BOOST_TEST(scratch.files() == 3u);
    BOOST_TEST(reads(*some, places[2], 32 * kib, 2));
    // The last one is still written to.
    some->release(places[6], 32 * kib);
    some->release(places[7], 32 * kib);
    BOOST_TEST(scratch.files() == 3u);
    append(*some, 4096, 9);
    BOOST_TEST(scratch.files() == 3u);
}

BOOST_AUTO_TEST_CASE(a_volume_is_prepared_whole_and_cut_when_the_next_begins) {
    const Scratch scratch;
    const auto some = scratch.open();
    append(*some, 4096, 1);
    BOOST_TEST(some->measure() == 64 * kib);
    append(*some, 64 * kib, 2);
    BOOST_TEST(some->measure() == 68 * kib);
    append(*some, 100 * kib, 3);
    BOOST_TEST(some->measure() == 168 * kib);
}

BOOST_AUTO_TEST_CASE(a_restart_gives_back_all_that_nobody_keeps) {
    const Scratch scratch;
    std::vector<Place> places;
    {
        const auto some = scratch.open();
        for (std::uint8_t n = 0; n < 8; ++n) places.push_back(append(*some, 16 * kib, n));
    }
    const auto some = scratch.open();
    BOOST_TEST(some->keep(places[0], 16 * kib));
    BOOST_TEST(some->keep(places[2], 16 * kib));
    BOOST_TEST(!some->keep(places[3], 17 * kib));
    BOOST_TEST(!some->keep(Place{77ull << 32}, 4096));
    some->finish_keeping();
    BOOST_TEST(some->measure() == 32 * kib);
    BOOST_TEST(scratch.files() == 1u);
    BOOST_TEST(reads(*some, places[0], 16 * kib, 0));
    BOOST_TEST(reads(*some, places[2], 16 * kib, 2));
    // Never a place of a former life again.
    const Place next = append(*some, 4096, 1);
    BOOST_TEST(next.volume() > places[7].volume());
    some->release(places[0], 16 * kib);
    some->release(places[2], 16 * kib);
    BOOST_TEST(scratch.files() == 1u);
}

BOOST_AUTO_TEST_CASE(files_of_others_are_left_alone) {
    const Scratch scratch;
    std::filesystem::create_directories(scratch.path);
    std::ofstream(scratch.path / "volume-0000000g") << "not ours";
    std::ofstream(scratch.path / "notes") << "not ours";
    const auto some = scratch.open();
    some->finish_keeping();
    BOOST_TEST(scratch.files() == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
