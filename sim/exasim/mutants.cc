// mutants: production code with one defect switched on at a time; an oracle must report each.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "sim/checks/mutants.h"
#include "sim/exasim/command_line.h"
#include "sim/exasim/commands.h"
#include "sim/exasim/prepare.h"
#include "sim/run/run.h"

namespace exa::sim {

namespace {

// Runs of a broken core, one a seed, of which one must be noticed.
constexpr std::uint64_t mutant_seeds = 6;

// Prints one line of the list; whether the verdict is the one hoped for.
bool print_verdict(bool json, bool good, std::string_view yes, std::string_view no, std::string_view mutant,
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

int try_mutants(const RunArguments& arguments) {
    int survivors = 0;
    std::set<std::pair<std::string_view, std::uint64_t>> controls;
    for (const MutantInfo& info : mutants()) {
        RunArguments one = arguments;
        one.mutant = info.name;
        if (!one.peers) one.peers = info.peers;
        one.scenario = info.scenario;
        bool caught = false;
        std::string how;
        for (std::uint64_t i = 0; i < mutant_seeds && !caught; ++i) {
            one.seed = arguments.seed.value_or(1) + i;
            auto prepared = prepare(one);
            if (!prepared) return usage(prepared.error());
            // The whole core must pass where the broken one fails, or nothing is shown.
            if (controls.insert({info.scenario, *one.seed}).second) {
                RunOptions whole = prepared.value().options;
                whole.mutant = Mutant::none;
                const bool passes = run(prepared.value().scenario, whole).verdict == Verdict::pass;
                survivors +=
                    print_verdict(arguments.json, passes, "passes", "FAILS", "none", info.scenario, "") ? 0 : 1;
            }
            const Outcome outcome = run(prepared.value().scenario, prepared.value().options);
            caught = outcome.verdict == Verdict::invariant || outcome.verdict == Verdict::liveness;
            how = fmt::format("seed {}: {}", *one.seed,
                              outcome.violations.empty()
                                  ? outcome.liveness
                                  : outcome.violations.front().check + ": " + outcome.violations.front().what);
        }
        survivors += print_verdict(arguments.json, caught, "caught", "SURVIVES", info.name, info.scenario, how) ? 0 : 1;
    }
    return static_cast<int>(survivors > 0 ? Verdict::invariant : Verdict::pass);
}

}  // namespace

Command mutants_command() {
    const auto arguments = std::make_shared<RunArguments>();
    return {"mutants", "Switch on each known defect in turn: an oracle must report every one",
            [arguments](CommandLine& line) {
                line.number("--peers", arguments->peers, "Peers; default: what shows the defect, mostly 32");
                line.flag("--json", arguments->json, "Print one JSON object a line");
                line.number("--seed", arguments->seed, "Seed of the first of up to six runs for each; default: 1");
            },
            [arguments] { return try_mutants(*arguments); }};
}

}  // namespace exa::sim
