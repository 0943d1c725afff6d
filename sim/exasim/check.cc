// check: the same run twice, compared event by event.
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/exasim/command_line.h"
#include "sim/exasim/commands.h"
#include "sim/exasim/prepare.h"
#include "sim/report/trace_file.h"
#include "sim/run/run.h"

namespace exa::sim {

namespace {

int compare_two_runs(const RunArguments& arguments) {
    auto prepared = prepare(arguments);
    if (!prepared) return usage(prepared.error());
    Prepared& run_it = prepared.value();
    std::vector<std::uint64_t> hashes;
    run_it.options.listener = [&hashes](const TraceEntry& entry) {
        hashes.push_back(entry.hash);
        return true;
    };
    const Outcome first = run(run_it.scenario, run_it.options);
    std::optional<TraceEntry> diverged;
    run_it.options.listener = [&](const TraceEntry& entry) {
        if (entry.number <= hashes.size() && hashes[entry.number - 1] == entry.hash) return true;
        diverged = entry;
        return false;
    };
    const Outcome second = run(run_it.scenario, run_it.options);
    const bool same = !diverged && first.trace_hash == second.trace_hash && first.trace_entries == second.trace_entries;
    if (arguments.json) {
        std::fputs(fmt::format("{{\"ok\":{},\"scenario\":\"{}\",\"seed\":{},\"trace_hash\":\"{}\",\"entries\":{},"
                               "\"first_diverging\":{}}}\n",
                               same, run_it.identity.scenario, run_it.identity.seed, hex(first.trace_hash),
                               first.trace_entries, diverged ? std::to_string(diverged->number) : "null")
                       .c_str(),
                   stdout);
    } else if (same) {
        std::fputs(
            fmt::format("same twice: {} entries, trace {}\n", first.trace_entries, hex(first.trace_hash)).c_str(),
            stdout);
    } else {
        std::fputs(fmt::format("NOT DETERMINISTIC: first diverging event\n{}\nagain: {}\n",
                               diverged ? describe(*diverged) : "the second run is shorter", run_it.identity.command)
                       .c_str(),
                   stdout);
    }
    if (!same) return static_cast<int>(Verdict::non_determinism);
    return static_cast<int>(first.verdict);
}

}  // namespace

Command check_command() {
    const auto arguments = std::make_shared<RunArguments>();
    return {"check", "Run twice and compare every event",
            [arguments](CommandLine& line) { add_run_options(line, *arguments); },
            [arguments] { return compare_two_runs(*arguments); }};
}

}  // namespace exa::sim
