#include "sim/exasim/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "sim/errc.h"
#include "sim/exasim/prepare.h"
#include "sim/report/describe_packet.h"
#include "sim/report/html_report.h"
#include "sim/report/outcome_json.h"
#include "sim/report/trace_file.h"
#include "sim/run/run.h"

namespace exa::sim {

namespace {

constexpr std::size_t chain_max = 16;
// Large enough for every built-in scenario that names hosts.
constexpr std::uint32_t mutant_peers = 32;
// Runs of a broken core, one a seed, of which one must be noticed.
constexpr std::uint64_t mutant_seeds = 6;

}  // namespace

int run_command(const RunArguments& arguments) {
    auto prepared = prepare(arguments);
    if (!prepared) return usage(prepared.error());
    Prepared& run_it = prepared.value();
    std::ofstream file;
    if (!arguments.trace.empty()) {
        file.open(arguments.trace);
        if (!file) return usage(error(errc::not_written, arguments.trace));
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
        if (!file) return usage(error(errc::not_written, arguments.trace));
    }
    std::fputs(
        (arguments.json ? to_json(run_it.identity, outcome, time) : to_text(run_it.identity, outcome, time)).c_str(),
        stdout);
    return static_cast<int>(outcome.verdict);
}

int list_command(bool json) {
    for (const BuiltIn& scenario : built_in_scenarios()) {
        const auto parsed = parse_scenario(scenario.name, scenario.text, {});
        if (!parsed) return usage(parsed.error());
        if (json)
            std::fputs(fmt::format("{{\"name\":\"{}\",\"about\":\"{}\",\"watch\":[\"{}\"]}}\n", scenario.name,
                                   parsed.value().about, fmt::join(parsed.value().watch, "\",\""))
                           .c_str(),
                       stdout);
        else
            std::fputs(fmt::format("{:<24} {}\n{:<24} watches {}\n", scenario.name, parsed.value().about, "",
                                   fmt::join(parsed.value().watch, " "))
                           .c_str(),
                       stdout);
    }
    return 0;
}

int check_command(const RunArguments& arguments) {
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

namespace {

// An event, what it carried, what peers were told by it, and what led to it, the nearest first.
struct Explanation {
    TraceEntry event;
    std::string content;
    std::vector<TraceEntry> effects;
    std::vector<TraceEntry> causes;
    bool from_start = false;  // the last cause had none; otherwise the chain is longer
};

std::string to_text(const Explanation& explanation) {
    std::string text = describe(explanation.event) + "\n" + explanation.content;
    for (const TraceEntry& effect : explanation.effects) text += "  then " + describe(effect) + "\n";
    text += "because of\n";
    for (const TraceEntry& cause : explanation.causes) text += "  " + describe(cause) + "\n";
    return text + (explanation.from_start ? "  the start\n" : "  ...\n");
}

std::string to_json(const Explanation& explanation) {
    const auto list = [](const std::vector<TraceEntry>& entries) {
        boost::json::array all;
        for (const TraceEntry& entry : entries)
            all.push_back(boost::json::object{{"event", entry.number}, {"what", describe(entry)}});
        return all;
    };
    return boost::json::serialize(boost::json::object{{"event", explanation.event.number},
                                                      {"what", describe(explanation.event)},
                                                      {"content", explanation.content},
                                                      {"then", list(explanation.effects)},
                                                      {"because_of", list(explanation.causes)},
                                                      {"from_start", explanation.from_start}}) +
           "\n";
}

}  // namespace

int explain_command(const RunArguments& arguments, std::uint64_t number) {
    auto prepared = prepare(arguments);
    if (!prepared) return usage(prepared.error());
    Prepared& run_it = prepared.value();
    std::vector<TraceEntry> entries;
    std::string content;
    std::vector<TraceEntry> effects;
    std::uint64_t after = 0;
    std::uint64_t events = 0;
    run_it.options.listener = [&](const TraceEntry& entry) {
        events = entry.number;
        if (entry.number <= number) {
            entries.push_back(entry);
            return true;
        }
        if (entry.kind == EventKind::told && entry.cause == number) effects.push_back(entry);
        return number == 0 || ++after < 256;
    };
    run_it.options.tap = [&](const TraceEntry& entry, const Bytes& bytes) {
        if (entry.number == number) content = describe_message(entry.kind == EventKind::sync, bytes);
    };
    run(run_it.scenario, run_it.options);
    if (number == 0 || entries.size() < number)
        return usage(error(errc::no_such_event, fmt::format("{}: the run's are 1 to {}", number, events)));
    std::vector<TraceEntry> causes;
    std::uint64_t cause = entries.back().cause;
    for (; causes.size() < chain_max && cause != 0; cause = causes.back().cause) causes.push_back(entries[cause - 1]);
    const Explanation explanation{entries.back(), content, effects, causes, cause == 0};
    std::fputs((arguments.json ? to_json(explanation) : to_text(explanation)).c_str(), stdout);
    return 0;
}

int report_command(const RunArguments& arguments, const std::string& out) {
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
    file << to_html(run_it.identity, run_it.scenario, outcome, timeline);
    file.close();
    if (!file) return usage(error(errc::not_written, out));
    std::fputs((arguments.json ? to_json(run_it.identity, outcome, time) : out + "\n").c_str(), stdout);
    return static_cast<int>(outcome.verdict);
}

int replay_command(const std::string& path, bool json) {
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

namespace {

// Prints one line of the list; whether the verdict is the one hoped for.
bool tell(bool json, bool good, std::string_view yes, std::string_view no, std::string_view mutant,
          std::string_view scenario, const std::string& how) {
    const std::string_view verdict = good ? yes : no;
    std::fputs(
        (json ? boost::json::serialize(boost::json::object{
                    {"ok", good}, {"verdict", verdict}, {"mutant", mutant}, {"scenario", scenario}, {"how", how}}) +
                    "\n"
              : fmt::format("{:<8} {:<26} {:<18} {}\n", verdict, mutant, scenario, how))
            .c_str(),
        stdout);
    return good;
}

}  // namespace

int mutants_command(const RunArguments& arguments) {
    int survivors = 0;
    std::set<std::pair<std::string_view, std::uint64_t>> controls;
    for (const MutantInfo& info : mutants()) {
        RunArguments one = arguments;
        one.mutant = info.name;
        if (one.peers == 0) one.peers = mutant_peers;
        one.scenario = info.scenario;
        bool caught = false;
        std::string how;
        for (std::uint64_t i = 0; i < mutant_seeds && !caught; ++i) {
            one.seed = arguments.seed + i;
            auto prepared = prepare(one);
            if (!prepared) return usage(prepared.error());
            // The whole core must pass where the broken one fails, or nothing is shown.
            if (controls.insert({info.scenario, one.seed}).second) {
                RunOptions whole = prepared.value().options;
                whole.mutant = Mutant::none;
                const bool passes = run(prepared.value().scenario, whole).verdict == Verdict::pass;
                survivors += tell(arguments.json, passes, "passes", "FAILS", "none", info.scenario, "") ? 0 : 1;
            }
            const Outcome outcome = run(prepared.value().scenario, prepared.value().options);
            caught = outcome.verdict == Verdict::invariant || outcome.verdict == Verdict::liveness;
            how = fmt::format("seed {}: {}", one.seed,
                              outcome.violations.empty()
                                  ? outcome.liveness
                                  : outcome.violations.front().check + ": " + outcome.violations.front().what);
        }
        survivors += tell(arguments.json, caught, "caught", "SURVIVES", info.name, info.scenario, how) ? 0 : 1;
    }
    return static_cast<int>(survivors > 0 ? Verdict::invariant : Verdict::pass);
}

}  // namespace exa::sim
