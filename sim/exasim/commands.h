// The commands of exasim. Each returns the process's exit code and writes to standard output.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/scenarios/scenario.h"

namespace exa::sim {

// What the command line says about one run.
struct RunArguments {
    std::string scenario;          // the name of a built-in one, or a file's path
    std::vector<std::string> set;  // "key=value"
    std::uint32_t peers = 0;       // 0: as the scenario says
    std::int64_t replicas = -1;    // -1: as the scenario says
    std::uint64_t seed = 1;
    std::string mutant;
    bool json = false;
    std::string trace;  // path; empty: none
};

int run_command(const RunArguments& arguments);
int list_command(bool json);
int check_command(const RunArguments& arguments);
int explain_command(const RunArguments& arguments, std::uint64_t entry);
int report_command(const RunArguments& arguments, const std::string& out);
int replay_command(const std::string& path, bool json);
int mutants_command(const RunArguments& arguments);

}  // namespace exa::sim
