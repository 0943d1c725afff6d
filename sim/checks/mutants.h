// The mutants that there are (base/mutant.h), for people: each must be caught by some oracle in a short run; one that
// survives shows a hole in the oracles.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/mutant.h"

namespace exa::sim {

// Whose name the forged datagrams of attackers carry.
inline constexpr std::string_view attacking_cluster = "another cluster";

struct MutantInfo {
    Mutant mutant;
    std::string_view name;
    std::string_view about;
    std::string_view scenario;  // the built-in one that catches it
    std::uint32_t peers = 32;   // enough for every built-in scenario that names hosts
};

std::span<const MutantInfo> mutants();
std::optional<Mutant> parse_mutant(std::string_view name);

}  // namespace exa::sim
