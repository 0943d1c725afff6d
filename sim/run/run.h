// Run: one scenario with one seed from cold start to verdict.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/checks/mutants.h"
#include "sim/checks/oracles.h"
#include "sim/client/workload.h"
#include "sim/scenarios/scenario.h"
#include "sim/world/trace.h"

namespace exa::sim {

// How the process ends; `exasim --help` documents them.
enum class Verdict : std::uint8_t {
    pass = 0,
    invariant = 1,
    usage = 2,
    liveness = 3,
    non_determinism = 4,
    no_effect = 5,
};

struct Outcome {
    Verdict verdict = Verdict::pass;
    std::uint64_t trace_hash = 0;
    std::uint64_t trace_entries = 0;
    std::uint64_t events = 0;
    Duration virtual_time{0};
    std::map<std::string, std::uint64_t> faults;  // effects by name
    std::vector<std::string> without_effect;      // entries of the plan and of must_happen
    std::vector<Violation> violations;
    std::uint64_t violation_count = 0;
    std::string liveness;  // what did not settle
    Measured measured;
    TrafficCounters traffic;
    double bytes_per_peer_s = 0;
    double packets_per_peer_s = 0;
    double link_bytes_per_peer_s = 0;
};

struct RunOptions {
    std::uint64_t seed = 1;
    Mutant mutant = Mutant::none;
    Trace::Listener listener;  // false from it ends the run: the outcome is then a partial one
    // Called once, when the measured part begins (`measure_from_s`).
    std::function<void()> on_measure;
    // Likewise when it ends (`duration_s`) and the liveness phase begins.
    std::function<void()> on_measured;
    // Called every virtual second.
    std::function<void(const Cluster&)> on_look;
    // Called with the bytes of each message as it is handled, right after the listener; for `explain`.
    std::function<void(const TraceEntry&, const Bytes&)> tap;
};

Outcome run(const Scenario& scenario, const RunOptions& options);

}  // namespace exa::sim
