// The outcome of a run as JSON (docs/simulator.md lists the keys) and as lines for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/run/run.h"

namespace exa::sim {

// What was run, for the report and for whoever wants to run it again.
struct RunIdentity {
    std::string scenario;  // as given on the command line
    std::uint64_t hash = 0;
    std::uint64_t seed = 0;
    std::string commit;
    std::string command;  // that runs it again
};

// How long the run took; of `before_measuring_s` of it, which `measure_from_s` of virtual time took, the second factor
// is free.
struct WallClock {
    double all_s = 0;
    double before_measuring_s = 0;
    double measure_from_s = 0;
};

std::string to_json(const RunIdentity& identity, const Outcome& outcome, const WallClock& wall);
std::string to_text(const RunIdentity& identity, const Outcome& outcome, const WallClock& wall);

// The value below which `percent` of them lie (nearest rank); 0 of none.
double percentile(std::vector<double> values, double percent);

std::string hex(std::uint64_t value);

}  // namespace exa::sim
