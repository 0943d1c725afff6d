#include "app/resp/memory.h"

#include <boost/test/unit_test.hpp>

#include "unit/app/kv/fakes.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::resp;
using namespace exa::app::test;

namespace {

RespVersion version_of(std::uint8_t n, std::uint64_t stamp, std::size_t parts = 1) {
    RespVersion version;
    for (std::size_t i = 0; i < parts; ++i) {
        version.parts.push_back(std::make_shared<exa::kv::SegmentBuffer>(1000));
        exa::kv::SegmentKey key = key_of(n);
        key.bytes[31] = static_cast<std::uint8_t>(i);
        version.keys.push_back(key);
    }
    version.stamp = stamp;
    version.bytes = 1000 * parts;
    return version;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(resp_memory)

BOOST_AUTO_TEST_CASE(the_least_recently_used_goes_first_and_what_waits_stays) {
    RespMemory memory(2000);
    memory.enter(key_of(9), version_of(9, 1), true, true);
    for (std::uint8_t n = 1; n <= 2; ++n) memory.enter(key_of(n), version_of(n, 1), false, false);
    memory.touch(key_of(1));
    memory.enter(key_of(3), version_of(3, 1), false, false);
    BOOST_TEST(memory.find(key_of(1)) != nullptr);
    BOOST_TEST(memory.find(key_of(2)) == nullptr);
    while (memory.forget_oldest()) {
    }
    memory.forget(key_of(9));
    BOOST_TEST(memory.count() == 1u);
    BOOST_TEST(memory.find(key_of(9))->waits);
    BOOST_TEST(memory.recent_bytes() == 0u);
}

BOOST_AUTO_TEST_CASE(only_the_version_that_stands_stops_waiting_when_it_is_stored) {
    RespMemory memory(1 << 20);
    memory.enter(key_of(1), version_of(1, 1), true, false);
    memory.enter(key_of(1), version_of(1, 2), true, false);
    BOOST_TEST(memory.waiting() == 1u);
    memory.handle_stored(key_of(1), 1, false);
    BOOST_TEST(memory.waiting() == 1u);
    BOOST_TEST(memory.recent_bytes() == 0u);
    memory.handle_stored(key_of(1), 2, true);
    BOOST_TEST(memory.waiting() == 0u);
    BOOST_TEST(memory.recent_bytes() == 1000u);
}

BOOST_AUTO_TEST_CASE(a_removal_leaves_memory_once_it_is_on_the_disk) {
    RespMemory memory(1 << 20);
    memory.enter(key_of(1), resp_removal(key_of(1), 5, 0), true, true);
    memory.handle_stored(key_of(1), 5, false);
    BOOST_TEST(memory.count() == 1u);
    memory.enter(key_of(1), resp_removal(key_of(1), 6, 0), true, true);
    memory.handle_stored(key_of(1), 6, true);
    BOOST_TEST(memory.count() == 0u);
}

BOOST_AUTO_TEST_CASE(parts_are_found_by_their_own_keys) {
    RespMemory memory(1 << 20);
    memory.enter(key_of(1), version_of(1, 1, 3), false, false);
    memory.enter(key_of(2), version_of(2, 1, 2), false, false);
    std::size_t part = 0;
    exa::kv::SegmentKey third = key_of(1);
    third.bytes[31] = 2;
    BOOST_TEST(memory.find_part(third, part) == &memory.find(key_of(1))->version);
    BOOST_TEST(part == 2u);
    third.bytes[31] = 3;
    BOOST_TEST(memory.find_part(third, part) == nullptr);
    third.bytes[0] = 2;
    BOOST_TEST(memory.find_part(third, part) == nullptr);
}

BOOST_AUTO_TEST_CASE(only_the_version_that_owners_have_is_acked) {
    RespMemory memory(1 << 20);
    memory.enter(key_of(1), version_of(1, 2), false, true);
    memory.handle_acked(key_of(1), 1);
    BOOST_TEST(memory.list_own(key_of(0), key_of(9)).size() == 1u);
    memory.handle_acked(key_of(1), 2);
    BOOST_TEST(memory.list_own(key_of(0), key_of(9)).empty());
    memory.enter(key_of(2), version_of(2, 1), true, false);
    BOOST_TEST(memory.list_own(key_of(0), key_of(9)).size() == 1u);
    BOOST_TEST(memory.list_own(key_of(3), key_of(9)).empty());
}

BOOST_AUTO_TEST_SUITE_END()
