#include "kernels/kv_copy.h"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <numeric>
#include <vector>

using namespace exa::kernels;

namespace {

constexpr AttentionShape shape{.heads = 4, .kv_heads = 2, .head_dim = 8};
constexpr std::size_t layers = 3;
constexpr std::size_t width = 16;

// Pages whose every half is another number, of a sequence that has them out of order.
struct Memory {
    std::vector<std::uint16_t> halves = std::vector<std::uint16_t>(5 * layers * shape.layer_halves());
    std::vector<std::uint32_t> pages = {3, 0, 4};

    PagedKv kv() { return {halves.data(), layers * shape.layer_halves(), pages.data()}; }
    std::uint16_t key(std::size_t layer, std::size_t position, std::size_t head, std::size_t i) const {
        return at(layer, position)[(head * shape.head_dim + i) * page_tokens + position % page_tokens];
    }
    std::uint16_t value(std::size_t layer, std::size_t position, std::size_t head, std::size_t i) const {
        return at(
            layer,
            position)[shape.layer_halves() / 2 + (head * page_tokens + position % page_tokens) * shape.head_dim + i];
    }
    const std::uint16_t* at(std::size_t layer, std::size_t position) const {
        return halves.data() + (pages[position / page_tokens] * layers + layer) * shape.layer_halves();
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(kv_copy)

BOOST_AUTO_TEST_CASE(a_segment_is_layers_then_keys_and_values_then_tokens_heads_and_dimensions) {
    Memory memory;
    std::iota(memory.halves.begin(), memory.halves.end(), std::uint16_t{0});
    constexpr std::size_t first = 5;
    constexpr std::size_t tokens = 40;
    std::vector<std::uint16_t> segment(segment_halves(shape, layers, tokens));
    gather_kv(shape, layers, memory.kv(), first, tokens, segment.data());
    for (std::size_t layer = 0; layer < layers; ++layer)
        for (std::size_t token = 0; token < tokens; ++token)
            for (std::size_t head = 0; head < shape.kv_heads; ++head)
                for (std::size_t i = 0; i < shape.head_dim; ++i) {
                    const std::size_t at = (layer * 2 * tokens + token) * width + head * shape.head_dim + i;
                    BOOST_TEST(segment[at] == memory.key(layer, first + token, head, i));
                    BOOST_TEST(segment[at + tokens * width] == memory.value(layer, first + token, head, i));
                }
}

BOOST_AUTO_TEST_CASE(scatter_brings_back_what_gather_took_and_writes_nothing_else) {
    Memory memory;
    std::iota(memory.halves.begin(), memory.halves.end(), std::uint16_t{1});
    constexpr std::size_t first = 3;
    constexpr std::size_t tokens = 37;
    for (const std::size_t skip : {std::size_t{0}, std::size_t{13}, std::size_t{20}, tokens}) {
        std::vector<std::uint16_t> segment(segment_halves(shape, layers, tokens));
        gather_kv(shape, layers, memory.kv(), first, tokens, segment.data());
        Memory other;
        scatter_kv(shape, layers, segment.data(), tokens, skip, other.kv(), first);
        for (std::size_t layer = 0; layer < layers; ++layer)
            for (std::size_t position = 0; position < 48; ++position) {
                const bool written = position >= first + skip && position < first + tokens;
                for (std::size_t head = 0; head < shape.kv_heads; ++head)
                    for (std::size_t i = 0; i < shape.head_dim; ++i) {
                        BOOST_TEST(other.key(layer, position, head, i) ==
                                   (written ? memory.key(layer, position, head, i) : 0));
                        BOOST_TEST(other.value(layer, position, head, i) ==
                                   (written ? memory.value(layer, position, head, i) : 0));
                    }
            }
    }
}

BOOST_AUTO_TEST_SUITE_END()
