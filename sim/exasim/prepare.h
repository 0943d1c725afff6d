// From the command line to a scenario that can be run.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/exasim/command_line.h"
#include "sim/report/outcome_json.h"
#include "sim/report/trace_file.h"
#include "sim/run/run.h"
#include "sim/scenarios/random_scenario.h"

namespace exa::sim {

// What the command line says about one run.
struct RunArguments {
    std::string scenario;          // the name of a built-in one, or a file's path
    std::vector<std::string> set;  // "key=value"
    // Nothing: as the scenario says; a seed: 1.
    std::optional<std::uint64_t> peers;
    std::optional<std::uint64_t> replicas;
    std::optional<std::uint64_t> seed;
    std::string mutant;
    bool json = false;
};

void add_run_options(CommandLine& line, RunArguments& arguments);

struct Prepared {
    TraceHeader header;
    Scenario scenario;
    RunOptions options;
    RunIdentity identity;
};

Result<Prepared> prepare(TraceHeader header);
Result<Prepared> prepare(const RunArguments& arguments);
// What the random scenarios of a mix are called, before a colon and their number.
std::string_view name_of(RandomMix mix);
// The text of a built-in scenario, of "random:NUMBER", "random-kv:NUMBER" or of a file.
Result<std::string> text_of(const std::string& scenario);

// The first violation, or what the liveness phase or the plan lacked; empty after a pass.
std::string first_failure(const Outcome& outcome);

// Says what was wrong and returns the exit code of it.
int usage(const Error& failure);

// A word as a shell takes it.
std::string quoted(const std::string& word);

// The only look at a real clock; it reaches reports alone.
class Stopwatch {
  public:
    double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
    // Of this process since it began.
    static double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace exa::sim
