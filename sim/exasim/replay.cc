// replay: the run of a trace file again, compared with it event by event.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "sim/exasim/command_line.h"
#include "sim/exasim/commands.h"
#include "sim/exasim/prepare.h"
#include "sim/report/outcome_json.h"
#include "sim/report/trace_file.h"
#include "sim/run/run.h"

namespace exa::sim {

namespace {

int replay_trace(const std::string& path, bool json) {
    auto opened = TraceReader::open(path);
    if (!opened) return usage(opened.error());
    TraceReader& reader = opened.value();
    auto prepared = prepare(reader.header());
    if (!prepared) return usage(prepared.error());
    Prepared& run_it = prepared.value();
    std::string expected;
    std::optional<TraceEntry> diverged;
    run_it.options.listener = [&](const TraceEntry& entry) {
        expected = reader.next();
        if (expected == to_line(entry)) return true;
        diverged = entry;
        return false;
    };
    const Stopwatch watch;
    const Outcome outcome = run(run_it.scenario, run_it.options);
    if (!diverged && reader.next().empty()) {
        const RunTime time{watch.seconds(), 0, 0};
        std::fputs((json ? to_json(run_it.identity, outcome, time) : to_text(run_it.identity, outcome, time)).c_str(),
                   stdout);
        return static_cast<int>(outcome.verdict);
    }
    const std::string file = expected.empty() ? "ended" : expected;
    const std::string here = diverged ? to_line(*diverged) : "ended\n";
    std::fputs((json ? boost::json::serialize(boost::json::object{{"ok", false}, {"file", file}, {"here", here}}) + "\n"
                     : fmt::format("the run differs from the file\nfile  {}\nhere  {}", file, here))
                   .c_str(),
               stdout);
    return static_cast<int>(Verdict::non_determinism);
}

}  // namespace

Command replay_command() {
    struct Arguments {
        std::string path;
        bool json = false;
    };
    const auto arguments = std::make_shared<Arguments>();
    return {"replay", "Repeat the run of a trace file and compare every event with it",
            [arguments](CommandLine& line) {
                line.word("file", arguments->path, "Trace file of 'exasim run --trace'");
                line.flag("--json", arguments->json, "Print one JSON object");
            },
            [arguments] { return replay_trace(arguments->path, arguments->json); }};
}

}  // namespace exa::sim
