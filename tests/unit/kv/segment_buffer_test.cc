#include "kv/segment_buffer.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

using namespace exa;
using namespace exa::kv;

BOOST_AUTO_TEST_SUITE(segment_buffer)

BOOST_AUTO_TEST_CASE(memory_is_aligned_whole_blocks_with_zeroes_behind_the_bytes) {
    for (const std::size_t size : {1u, 4095u, 4096u, 4097u, 1'000'000u}) {
        SegmentBuffer buffer(size);
        BOOST_TEST(buffer.size() == size);
        BOOST_TEST(buffer.view().size() == size);
        BOOST_TEST(buffer.blocks().size() % segment_block == 0u);
        BOOST_TEST(buffer.blocks().size() - size < segment_block);
        BOOST_TEST(reinterpret_cast<std::uintptr_t>(buffer.blocks().data()) % segment_block == 0u);
        std::fill(buffer.bytes().begin(), buffer.bytes().end(), std::uint8_t{0xff});
        const auto rest = std::as_const(buffer).blocks().subspan(size);
        BOOST_TEST(std::all_of(rest.begin(), rest.end(), [](std::uint8_t byte) { return byte == 0; }));
    }
}

BOOST_AUTO_TEST_SUITE_END()
