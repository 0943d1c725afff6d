// Philox4x32-10: a counter-based generator (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3").
//
// The output is a pure function of key and counter, so a draw can be repeated anywhere without a state to carry.
#pragma once

#include <array>
#include <cstdint>

namespace exa::engine {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key);

// Uniform in [0, 1), 53 bits, for the token at `position` of a sequence sampled under `seed`.
double uniform(std::uint64_t seed, std::uint64_t position);

}  // namespace exa::engine
