// run: one scenario, one seed, a verdict.
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "sim/errc.h"
#include "sim/exasim/command_line.h"
#include "sim/exasim/commands.h"
#include "sim/exasim/prepare.h"
#include "sim/report/outcome_json.h"
#include "sim/report/trace_file.h"
#include "sim/run/run.h"

namespace exa::sim {

namespace {

int run_and_judge(const RunArguments& arguments, const std::string& trace) {
    auto prepared = prepare(arguments);
    if (!prepared) return usage(prepared.error());
    Prepared& run_it = prepared.value();
    std::ofstream file;
    if (!trace.empty()) {
        file.open(trace);
        if (!file) return usage(error(errc::not_written, trace));
        file << to_line(run_it.header);
        run_it.options.listener = [&file](const TraceEntry& entry) {
            file << to_line(entry);
            return true;
        };
    }
    const Stopwatch watch;
    RunTime time;
    time.measured_virtual_s = seconds_of(run_it.scenario.duration - run_it.scenario.measure_from);
    run_it.options.on_measure = [&] {
        time.measured_s = -watch.seconds();
        time.measured_cpu_s = -Stopwatch::cpu_seconds();
    };
    run_it.options.on_measured = [&] {
        time.measured_s += watch.seconds();
        time.measured_cpu_s += Stopwatch::cpu_seconds();
    };
    const Outcome outcome = run(run_it.scenario, run_it.options);
    time.all_s = watch.seconds();
    if (file.is_open()) {
        file.close();
        if (!file) return usage(error(errc::not_written, trace));
    }
    std::fputs(
        (arguments.json ? to_json(run_it.identity, outcome, time) : to_text(run_it.identity, outcome, time)).c_str(),
        stdout);
    return static_cast<int>(outcome.verdict);
}

}  // namespace

Command run_command() {
    struct Arguments : RunArguments {
        std::string trace;
    };
    const auto arguments = std::make_shared<Arguments>();
    return {"run", "Run a scenario and judge it",
            [arguments](CommandLine& line) {
                add_run_options(line, *arguments);
                line.text("--trace", arguments->trace, "File that every event is written to");
            },
            [arguments] { return run_and_judge(*arguments, arguments->trace); }};
}

}  // namespace exa::sim
