// Looking for failures and making them small: the commands swarm, shrink and score.
#pragma once

#include <cstdint>
#include <string>

#include "sim/exasim/commands.h"
#include "sim/scenarios/random_scenario.h"

namespace exa::sim {

struct SwarmArguments {
    double minutes = 1;
    std::uint32_t jobs = 1;
    std::uint64_t first = 1;  // number of the first random scenario
    RandomMix mix = RandomMix::all;
    bool json = false;  // one object at the end, in place of a line as each failure comes
};

// Random scenarios, one a process, `jobs` at once, until the time is over. Prints every failure with the command that
// repeats it; the code is that of the first one.
int swarm_command(const SwarmArguments& arguments);

// Takes entries out of the plan, then peers, replicas, load and time, as long as the run still fails in the same way,
// and writes the scenario that is left.
int shrink_command(const RunArguments& arguments, const std::string& out);

// Points of 100 for every built-in scenario that is neither a measurement nor meant to fail.
int score_command(std::uint32_t peers, std::uint32_t seeds, bool json);

}  // namespace exa::sim
