#include "app/kv/memory.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>
#include <memory>

using namespace exa;
using app::kv::KvMemory;

namespace {

kv::SegmentKey key(std::uint8_t n) {
    kv::SegmentKey key;
    key.bytes[0] = n;
    return key;
}

kv::SealedSegment segment(std::size_t bytes) {
    return std::make_shared<const kv::SegmentBuffer>(bytes);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kv_memory)

BOOST_AUTO_TEST_CASE(the_least_recently_used_goes_when_room_is_needed) {
    KvMemory memory(300);
    for (std::uint8_t n = 1; n <= 3; ++n) memory.put(key(n), segment(100));
    BOOST_TEST(memory.find(key(1)) != nullptr);
    memory.put(key(4), segment(50));
    BOOST_TEST(memory.find(key(2)) == nullptr);
    BOOST_TEST(memory.find(key(1)) != nullptr);
    BOOST_TEST(memory.find(key(3)) != nullptr);
    BOOST_TEST(memory.usage().bytes == 250U);
    BOOST_TEST(memory.usage().segments == 3U);
}

BOOST_AUTO_TEST_CASE(a_second_under_a_key_takes_the_place_of_the_first) {
    KvMemory memory(300);
    memory.put(key(1), segment(100));
    const auto second = segment(200);
    memory.put(key(1), second);
    BOOST_TEST(memory.find(key(1)) == second);
    BOOST_TEST(memory.usage().bytes == 200U);
    BOOST_TEST(memory.erase(key(1)));
    BOOST_TEST(!memory.erase(key(1)));
    BOOST_TEST(memory.usage().bytes == 0U);
}

BOOST_AUTO_TEST_CASE(what_is_larger_than_all_of_it_is_not_kept_and_drives_nothing_out) {
    KvMemory memory(300);
    memory.put(key(1), segment(100));
    memory.put(key(2), segment(301));
    BOOST_TEST(memory.find(key(2)) == nullptr);
    BOOST_TEST(memory.find(key(1)) != nullptr);
    KvMemory none(0);
    none.put(key(1), segment(1));
    BOOST_TEST(none.usage().segments == 0U);
}

BOOST_AUTO_TEST_CASE(a_run_ends_at_the_first_gap_and_its_first_segment_goes_last) {
    KvMemory memory(300);
    for (const std::uint8_t n : std::initializer_list<std::uint8_t>{1, 2, 4}) memory.put(key(n), segment(100));
    const std::vector<kv::SegmentKey> keys{key(1), key(2), key(3), key(4)};
    BOOST_TEST(memory.find_run(keys).size() == 2U);
    memory.put(key(5), segment(100));
    memory.put(key(6), segment(100));
    BOOST_TEST(memory.contains(key(1)));
    BOOST_TEST(!memory.contains(key(2)));
    BOOST_TEST(memory.find_run(keys).size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
