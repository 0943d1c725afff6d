// report: a run as one HTML file.
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "sim/errc.h"
#include "sim/exasim/command_line.h"
#include "sim/exasim/commands.h"
#include "sim/exasim/prepare.h"
#include "sim/report/html_report.h"
#include "sim/report/outcome_json.h"
#include "sim/run/run.h"

namespace exa::sim {

namespace {

int write_report(const RunArguments& arguments, const std::string& out) {
    auto prepared = prepare(arguments);
    if (!prepared) return usage(prepared.error());
    Prepared& run_it = prepared.value();
    Timeline timeline;
    run_it.options.listener = [&timeline](const TraceEntry& entry) { return timeline.note(entry); };
    run_it.options.on_look = [&timeline](const Cluster& cluster) { timeline.look(cluster); };
    const Stopwatch watch;
    const Outcome outcome = run(run_it.scenario, run_it.options);
    const RunTime time{watch.seconds(), 0, 0};
    std::ofstream file(out);
    file << to_html(run_it.identity, run_it.scenario, outcome, timeline, time);
    file.close();
    if (!file) return usage(error(errc::not_written, out));
    std::fputs((arguments.json ? to_json(run_it.identity, outcome, time) : out + "\n").c_str(), stdout);
    return static_cast<int>(outcome.verdict);
}

}  // namespace

Command report_command() {
    struct Arguments : RunArguments {
        std::string out = "report.html";
    };
    const auto arguments = std::make_shared<Arguments>();
    return {"report", "Run a scenario and write what happened to one HTML file",
            [arguments](CommandLine& line) {
                add_run_options(line, *arguments);
                line.text("--out", arguments->out, "The HTML file; default: report.html");
            },
            [arguments] { return write_report(*arguments, arguments->out); }};
}

}  // namespace exa::sim
