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

// How long the run took, and the part of it that is measured (from `measure_from_s` to `duration_s`). On a machine that
// others use as well the processor's time says more than the clock's.
struct RunTime {
    double all_s = 0;
    double measured_s = 0;
    double measured_cpu_s = 0;
    double measured_virtual_s = 0;
};

std::string to_json(const RunIdentity& identity, const Outcome& outcome, const RunTime& time);
std::string to_text(const RunIdentity& identity, const Outcome& outcome, const RunTime& time);

// The value below which `percent` of them lie (nearest rank); 0 of none.
double percentile(std::vector<double> values, double percent);

std::string hex(std::uint64_t value);

}  // namespace exa::sim
