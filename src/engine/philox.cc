#include "engine/philox.h"

namespace exa::engine {

PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t a = std::uint64_t{0xd2511f53} * counter[0];
        const std::uint64_t b = std::uint64_t{0xcd9e8d57} * counter[2];
        counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
                   static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
        key[0] += 0x9e3779b9;
        key[1] += 0xbb67ae85;
    }
    return counter;
}

double uniform(std::uint64_t seed, std::uint64_t position) {
    const PhiloxCounter block =
        philox({static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32), 0, 0},
               {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
    const std::uint64_t bits = std::uint64_t{block[0]} << 32 | block[1];
    return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

}  // namespace exa::engine
