#include "model/weight_arena.h"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <utility>
#include <vector>

using exa::model::WeightArena;

BOOST_AUTO_TEST_SUITE(weight_arena)

BOOST_AUTO_TEST_CASE(blocks_are_aligned_and_do_not_overlap) {
    WeightArena arena;
    // The last two are more than what is left of a slab, and more than a slab.
    const std::size_t sizes[] = {1, 63, 64, 65, 1000, 30U << 20, 40U << 20, 7};
    std::vector<std::uint8_t*> blocks;
    for (std::size_t i = 0; i < std::size(sizes); ++i) {
        blocks.push_back(arena.allocate(sizes[i]));
        BOOST_TEST(reinterpret_cast<std::uintptr_t>(blocks.back()) % WeightArena::alignment == 0U);
        std::memset(blocks.back(), static_cast<int>(i + 1), sizes[i]);
    }
    const WeightArena moved = std::move(arena);
    for (std::size_t i = 0; i < std::size(sizes); ++i) {
        BOOST_TEST(static_cast<std::size_t>(blocks[i][0]) == i + 1);
        BOOST_TEST(static_cast<std::size_t>(blocks[i][sizes[i] - 1]) == i + 1);
    }
}

BOOST_AUTO_TEST_SUITE_END()
