// exasim: the cluster on a virtual clock, network and disk. See `exasim --help`.
#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "sim/exasim/commands.h"
#include "sim/exasim/search.h"

namespace {

// CLI11 takes -1 for 2^64 - 1 and nothing for 0.
const CLI::Validator whole_number(
    [](const std::string& text) {
        std::uint64_t value = 0;
        const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool good = failed == std::errc() && end == text.data() + text.size();
        return good ? std::string() : "'" + text + "' is no whole number from 0 to 2^64 - 1";
    },
    "0 .. 2^64 - 1");
// A range lets it pass.
const CLI::Validator not_nan(
    [](const std::string& text) {
        return std::isnan(std::strtod(text.c_str(), nullptr)) ? text + " is no number" : "";
    },
    "");

void add_run_options(CLI::App& command, exa::sim::RunArguments& arguments) {
    command
        .add_option("scenario", arguments.scenario,
                    "A built-in scenario (exasim list), random:NUMBER, random-kv:NUMBER or a TOML file")
        ->required();
    command.add_option("--peers", arguments.peers, "Peers; the scenario's own number without it");
    command.add_option("--replicas", arguments.replicas, "Replicas of each peer");
    command.add_option("--seed", arguments.seed, "Decides every chance of the run; 1 without it")->check(whole_number);
    command.add_option("--set", arguments.set, "KEY=VALUE of the scenario, as net.loss=0.1 or fault.0.count=3");
    command.add_option("--mutant", arguments.mutant, "Break the core in this way (exasim mutants)");
    command.add_flag("--json", arguments.json, "One JSON object");
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("exasim: a whole cluster on a virtual clock, network and disk, replayable by seed");
    app.require_subcommand(1);
    app.footer(
        "Exit codes: 0 pass, 1 an invariant is broken, 2 usage, 3 the cluster did not settle, 4 two runs differ,\n"
        "5 a fault never took effect. Scenarios and output: docs/simulator.md");
    exa::sim::RunArguments arguments;
    std::uint64_t entry = 0;
    std::string path;
    bool json = false;

    auto* run = app.add_subcommand("run", "Run a scenario and judge it");
    add_run_options(*run, arguments);
    run->add_option("--trace", arguments.trace, "Write every event to this file");
    auto* list = app.add_subcommand("list", "The built-in scenarios");
    list->add_flag("--json", json, "One JSON object a line");
    auto* check = app.add_subcommand("check", "Run twice and compare every event");
    add_run_options(*check, arguments);
    auto* explain = app.add_subcommand("explain", "What an event was, what it carried, and what led to it");
    add_run_options(*explain, arguments);
    explain->add_option("--event", entry, "Its number, as a violation or a trace names it")
        ->required()
        ->check(whole_number);
    auto* replay = app.add_subcommand("replay", "Run a trace file's run again and compare every event with it");
    replay->add_option("file", path, "Written by run --trace")->required();
    replay->add_flag("--json", json, "One JSON object");
    auto* mutants = app.add_subcommand("mutants", "Break the core in each known way: an oracle must notice every one");
    mutants->add_option("--peers", arguments.peers, "Peers; 32 without it");
    mutants->add_flag("--json", arguments.json, "One JSON object a line");
    mutants->add_option("--seed", arguments.seed, "Of the first of up to six runs for each; 1 without it")
        ->check(whole_number);

    exa::sim::SwarmArguments swarm_arguments;
    auto* swarm = app.add_subcommand("swarm", "Random scenarios until the time is over");
    swarm->add_option("--minutes", swarm_arguments.minutes, "How long; 1 without it")
        ->check(CLI::Range(0.01, 1e5))
        ->check(not_nan);
    swarm->add_option("--jobs", swarm_arguments.jobs, "Processes at once; 1 without it")->check(CLI::Range(1, 256));
    swarm->add_option("--seed", swarm_arguments.first, "Number of the first random scenario; 1 without it")
        ->check(whole_number);
    swarm
        ->add_option_function<std::string>(
            "--mix",
            [&swarm_arguments](const std::string& mix) {
                swarm_arguments.mix = mix == "kv" ? exa::sim::RandomMix::kv : exa::sim::RandomMix::all;
            },
            "all kinds of scenarios, or kv: those that try the KV cache; all without it")
        ->check(CLI::IsMember({"all", "kv"}));
    swarm->add_flag("--json", swarm_arguments.json, "One JSON object");
    std::string out = "shrunk.toml";
    auto* shrink = app.add_subcommand("shrink", "The smallest scenario that still fails like this run");
    add_run_options(*shrink, arguments);
    shrink->add_option("--out", out, "Where it is written; shrunk.toml without it");
    std::string page = "report.html";
    auto* report = app.add_subcommand("report", "Run, and show what happened as one HTML file");
    add_run_options(*report, arguments);
    report->add_option("--out", page, "Where it is written; report.html without it");
    std::uint32_t score_peers = 24;
    std::uint32_t score_seeds = 3;
    auto* score = app.add_subcommand("score", "Points of 100 for every scenario: see docs/simulator.md");
    score->add_option("--peers", score_peers, "24 without it")->check(CLI::Range(24, 4096));
    score->add_option("--seeds", score_seeds, "Runs of each; 3 without it")->check(CLI::Range(1, 1000));
    score->add_flag("--json", json, "One JSON object a line");

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& wrong) {
        return app.exit(wrong) == 0 ? 0 : 2;
    }
    if (*run) return exa::sim::run_command(arguments);
    if (*list) return exa::sim::list_command(json);
    if (*check) return exa::sim::check_command(arguments);
    if (*explain) return exa::sim::explain_command(arguments, entry);
    if (*replay) return exa::sim::replay_command(path, json);
    if (*swarm) return exa::sim::swarm_command(swarm_arguments);
    if (*shrink) return exa::sim::shrink_command(arguments, out);
    if (*report) return exa::sim::report_command(arguments, page);
    if (*score) return exa::sim::score_command(score_peers, score_seeds, json);
    return exa::sim::mutants_command(arguments);
}
