#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>

namespace exa {

std::uint64_t hash64(ByteView bytes, std::uint64_t seed) {
    return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::uint64_t hash64(std::uint64_t a, std::uint64_t b, std::uint64_t seed) {
    std::array<std::uint8_t, 16> bytes;
    for (unsigned i = 0; i < 8; ++i) {
        bytes[i] = static_cast<std::uint8_t>(a >> (8 * i));
        bytes[8 + i] = static_cast<std::uint8_t>(b >> (8 * i));
    }
    return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace exa
