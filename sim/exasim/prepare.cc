#include "sim/exasim/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "exasim_commit.h"
#include "sim/errc.h"

namespace exa::sim {

void add_run_options(CommandLine& line, RunArguments& arguments) {
    line.word("scenario", arguments.scenario,
              "A built-in scenario (exasim list), random:NUMBER, random-kv:NUMBER or a TOML file");
    line.number("--peers", arguments.peers, "Peers; default: as the scenario says");
    line.number("--replicas", arguments.replicas, "Replicas of each peer; default: as the scenario says");
    line.number("--seed", arguments.seed, "Decides every chance of the run; default: as the scenario says, else 1");
    line.texts("--set", arguments.set, "KEY=VALUE of the scenario, such as net.loss=0.1 or fault.0.count=3");
    line.text("--mutant", arguments.mutant, "Switch on this defect (exasim mutants)");
    line.flag("--json", arguments.json, "Print one JSON object");
}

std::string first_failure(const Outcome& outcome) {
    if (!outcome.violations.empty()) return outcome.violations[0].check + ": " + outcome.violations[0].what;
    if (!outcome.liveness.empty()) return outcome.liveness;
    return outcome.without_effect.empty() ? std::string() : "without effect: " + outcome.without_effect[0];
}

int usage(const Error& failure) {
    std::fputs(fmt::format("exasim: {}\n", failure.message()).c_str(), stderr);
    return static_cast<int>(Verdict::usage);
}

std::string_view name_of(RandomMix mix) {
    return mix == RandomMix::all ? "random" : "random-kv";
}

Result<std::string> text_of(const std::string& scenario) {
    const auto all = built_in_scenarios();
    const auto known = std::ranges::find(all, scenario, &BuiltIn::name);
    if (known != all.end()) return std::string(known->text);
    for (const RandomMix mix : {RandomMix::all, RandomMix::kv}) {
        const std::string_view random = name_of(mix);
        if (!scenario.starts_with(random) || scenario.find(':') != random.size()) continue;
        std::uint64_t number = 0;
        const char* const end_of_text = scenario.data() + scenario.size();
        const auto [end, failed] = std::from_chars(scenario.data() + random.size() + 1, end_of_text, number);
        if (failed != std::errc{} || end != end_of_text)
            return error(errc::bad_scenario, fmt::format("'{}': accepted is {}:NUMBER", scenario, random));
        return random_scenario(number, mix);
    }
    std::ifstream file(scenario);
    if (scenario.find('.') == scenario.npos || !file)
        return error(errc::bad_scenario,
                     fmt::format("'{}' is neither a built-in scenario (exasim list) nor a file", scenario));
    return std::string{std::istreambuf_iterator<char>(file), {}};
}

std::string quoted(const std::string& word) {
    if (word.find_first_of(" \"'[]{}$*?#;&|<>()") == word.npos) return word;
    std::string out = "'";
    for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

Result<Prepared> prepare(TraceHeader header) {
    auto parsed = parse_scenario(header.scenario, header.text, header.settings);
    if (!parsed) return std::move(parsed).error();
    Prepared prepared;
    prepared.scenario = std::move(parsed).value();
    prepared.options.seed = header.seed;
    if (!header.mutant.empty()) {
        const auto mutant = parse_mutant(header.mutant);
        if (!mutant) return error(errc::bad_scenario, fmt::format("there is no mutant '{}'", header.mutant));
        prepared.options.mutant = *mutant;
    }
    std::string command = fmt::format("exasim run {} --seed {}", quoted(header.scenario), header.seed);
    for (const Setting& setting : header.settings)
        command += fmt::format(" --set {}", quoted(setting.key + "=" + setting.value));
    if (!header.mutant.empty()) command += " --mutant " + header.mutant;
    prepared.identity = {header.scenario, prepared.scenario.hash, header.seed, commit, std::move(command)};
    prepared.header = std::move(header);
    return prepared;
}

Result<Prepared> prepare(const RunArguments& arguments) {
    EXA_TRY(std::string text, text_of(arguments.scenario));
    TraceHeader header{arguments.scenario, std::move(text), {}, 1, arguments.mutant};
    if (arguments.peers) header.settings.push_back({"cluster.peers", std::to_string(*arguments.peers)});
    if (arguments.replicas) header.settings.push_back({"cluster.replicas", std::to_string(*arguments.replicas)});
    for (const std::string& setting : arguments.set) {
        const auto equals = setting.find('=');
        if (equals == setting.npos)
            return error(errc::bad_scenario, fmt::format("--set {}: accepted is key=value", setting));
        header.settings.push_back({setting.substr(0, equals), setting.substr(equals + 1)});
    }
    EXA_TRY(const Scenario scenario, parse_scenario(header.scenario, header.text, header.settings));
    header.seed = arguments.seed.value_or(scenario.seed);
    return prepare(std::move(header));
}

}  // namespace exa::sim
