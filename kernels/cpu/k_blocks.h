// The 6-bit scales of the K formats, shared by the ways back to floats and to tiles.
#pragma once

#include <cstdint>

namespace exa::kernels {

struct ScaleMin {
    int scale;
    int min;
};

// A block of 256 has 8 sub-blocks of 32, a 6-bit scale and a 6-bit minimum each, packed in 12 bytes.
inline ScaleMin k_scale(const std::uint8_t* packed, int sub_block) {
    if (sub_block < 4) return {packed[sub_block] & 63, packed[sub_block + 4] & 63};
    const int low = packed[sub_block + 4];
    return {(low & 15) | (packed[sub_block - 4] >> 6) << 4, (low >> 4) | (packed[sub_block] >> 6) << 4};
}

}  // namespace exa::kernels
