// Mutants: realistic ways in which a core could be broken, done to it from outside. Each must be caught by some oracle
// in a short run; one that survives shows a hole in the oracles.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/mutant.h"
#include "sim/cluster/cluster.h"
#include "sim/world/time.h"

namespace exa::sim {

// Whose name the forged datagrams of attackers carry.
inline constexpr std::string_view attacking_cluster = "another cluster";

struct MutantInfo {
    Mutant mutant;
    std::string_view name;
    std::string_view about;
    std::string_view scenario;  // the built-in one that catches it
};

std::span<const MutantInfo> mutants();
std::optional<Mutant> parse_mutant(std::string_view name);

// What the mutant does to a datagram (`link` false) or a link message as it leaves `from`. False: it is not sent.
bool mutate(Mutant mutant, Host from, bool link, ClusterId cluster, Bytes& bytes);
// The same to what an attacker sends: for mutants of how it is received.
void mutate_stranger(Mutant mutant, Origin origin, ClusterId cluster, Bytes& bytes);

}  // namespace exa::sim
