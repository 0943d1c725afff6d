#include "model/finite.h"

#include <boost/test/unit_test.hpp>
#include <vector>

using namespace exa::model;
using exa::Bytes;

BOOST_AUTO_TEST_SUITE(finite_weights)

// Of every type: one scale of the last block that is an infinity, then a NaN.
BOOST_AUTO_TEST_CASE(a_scale_that_is_no_number_is_found_in_every_type) {
    struct Case {
        TensorType type;
        std::vector<std::size_t> scales;  // where a block's halves end
    };
    const Case cases[] = {{TensorType::f32, {4}},     {TensorType::f16, {2}},     {TensorType::bf16, {2}},
                          {TensorType::q4_0, {2}},    {TensorType::q4_1, {2, 4}}, {TensorType::q5_0, {2}},
                          {TensorType::q5_1, {2, 4}}, {TensorType::q8_0, {2}},    {TensorType::q4_k, {2, 4}},
                          {TensorType::q5_k, {2, 4}}, {TensorType::q6_k, {210}}};
    for (const auto& [type, scales] : cases) {
        const std::size_t block = block_shape(type)->bytes;
        // The largest finite scale, whatever the rest is.
        Bytes data(3 * block, type == TensorType::q6_k ? 0xff : 0x3b);
        if (type == TensorType::q6_k)
            for (std::size_t at = 208; at < data.size(); at += block) data[at + 1] = 0x3b;
        BOOST_TEST(all_finite(type, data), to_string(type));
        BOOST_TEST(all_finite(type, {}), to_string(type));
        for (const std::size_t end : scales)
            for (const int low : {0x80, 0x81}) {
                Bytes bad = data;
                const bool wide = type == TensorType::f32 || type == TensorType::bf16;
                bad[2 * block + end - 1] = wide ? 0x7f : 0x7c;
                bad[2 * block + end - 2] = static_cast<std::uint8_t>(low);
                BOOST_TEST(!all_finite(type, bad), to_string(type) << " " << end);
            }
    }
}

BOOST_AUTO_TEST_SUITE_END()
