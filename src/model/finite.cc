#include "model/finite.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/check.h"

namespace exa::model {

namespace {

// Exponents of all ones: infinities and NaNs.
constexpr std::uint16_t half_exponent = 0x7c00;
constexpr std::uint16_t bfloat_exponent = 0x7f80;
constexpr std::uint32_t float_exponent = 0x7f800000;

template <class T>
bool is_special(const std::uint8_t* at, T exponent) {
    T bits = 0;
    std::memcpy(&bits, at, sizeof bits);
    return (bits & exponent) == exponent;
}

// Of the numbers at `first`, `first + stride`, ...
template <class T>
bool none_special(ByteView data, std::size_t first, std::size_t stride, T exponent) {
    bool special = false;
    for (std::size_t at = first; at + sizeof(T) <= data.size(); at += stride)
        special |= is_special(data.data() + at, exponent);
    return !special;
}

// Of all of them. No early end and a stride that is known make it a loop of plain vector code, several times as fast.
template <class T>
bool none_special(ByteView data, T exponent) {
    bool special = false;
    const std::size_t count = data.size() / sizeof(T);
    for (std::size_t i = 0; i < count; ++i) special |= is_special(data.data() + i * sizeof(T), exponent);
    return !special;
}

// Of blocks of one or two halves each.
bool halves_finite(TensorType type, ByteView data, std::size_t first, bool two) {
    const std::size_t stride = block_shape(type)->bytes;
    return none_special(data, first, stride, half_exponent) &&
           (!two || none_special(data, first + sizeof(std::uint16_t), stride, half_exponent));
}

}  // namespace

bool all_finite(TensorType type, ByteView data) {
    switch (type) {
        case TensorType::f32:
            return none_special(data, float_exponent);
        case TensorType::f16:
            return none_special(data, half_exponent);
        case TensorType::bf16:
            return none_special(data, bfloat_exponent);
        case TensorType::q4_0:
        case TensorType::q5_0:
        case TensorType::q8_0:
            return halves_finite(type, data, 0, false);
        case TensorType::q4_1:
        case TensorType::q5_1:
        case TensorType::q4_k:
        case TensorType::q5_k:
            return halves_finite(type, data, 0, true);
        case TensorType::q6_k:
            // The scale stands last.
            return halves_finite(type, data, 208, false);
    }
    EXA_CHECK(false);
}

}  // namespace exa::model
