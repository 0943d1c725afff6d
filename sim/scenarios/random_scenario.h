// Random scenarios: a cluster of random size with random features on or off and a random mix of faults, for the swarm
// (Groce et al. 2012, "Swarm testing": leaving features out at random finds more than always using all of them).
#pragma once

#include <cstdint>
#include <string>

namespace exa::sim {

// The TOML text of scenario number `number`; the same number is always the same text.
std::string random_scenario(std::uint64_t number);

}  // namespace exa::sim
