// Random scenarios: a cluster of random size with random features on or off and a random mix of faults, for the swarm
// (Groce et al. 2012, "Swarm testing": leaving features out at random finds more than always using all of them).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace exa::sim {

// What is mixed: everything, or conversations with a KV cache and what troubles that, in every scenario.
enum class RandomMix : std::uint8_t { all, kv };

// The TOML text of scenario number `number`; the same number is always the same text.
std::string random_scenario(std::uint64_t number, RandomMix mix = RandomMix::all);

// The faults that the mix draws from.
std::span<const std::string_view> faults_of(RandomMix mix);

}  // namespace exa::sim
