// score: points for every built-in scenario.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string_view>

#include "membership/config.h"
#include "sim/exasim/command_line.h"
#include "sim/exasim/commands.h"
#include "sim/exasim/prepare.h"
#include "sim/run/run.h"

namespace exa::sim {

namespace {

// 40 for a pass; 20 each for deaths known early in their bound, for settling early, and for requests that did not fail.
double points(const Scenario& scenario, const Outcome& outcome) {
    const double bound =
        std::max(seconds_of(scenario.bounds.detect),
                 seconds_of(membership::worst_detection(scenario.cluster.membership, scenario.cluster.peers)));
    const double detect = percentile(outcome.measured.detect_all, 99) / bound;
    const double settle =
        outcome.measured.settle.value_or(seconds_of(scenario.bounds.settle)) / seconds_of(scenario.bounds.settle);
    const double requests = static_cast<double>(std::max<std::uint64_t>(1, outcome.traffic.requests));
    const double failed = static_cast<double>(outcome.traffic.failed() + outcome.traffic.ingress_lost) / requests;
    return (outcome.verdict == Verdict::pass ? 40 : 0) + 20 * std::max(0.0, 1 - detect) +
           20 * std::max(0.0, 1 - settle) + 20 * std::max(0.0, 1 - failed);
}

// Points of 100 for every built-in scenario that is neither a measurement nor meant to fail.
int score(std::uint32_t peers, std::uint32_t seeds, bool json) {
    constexpr std::array left_out =
        std::to_array<std::string_view>({"canary", "idle", "loss-hour", "overload-hour", "crash-many", "join-one"});
    double sum = 0;
    std::size_t count = 0;
    for (const BuiltIn& scenario : built_in_scenarios()) {
        if (std::ranges::find(left_out, scenario.name) != left_out.end()) continue;
        double total = 0;
        std::uint32_t passed = 0;
        for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
            RunArguments arguments;
            arguments.scenario = scenario.name;
            arguments.peers = peers;
            arguments.seed = seed;
            auto prepared = prepare(arguments);
            if (!prepared) return usage(prepared.error());
            // A rack of all peers leaves nobody to see its loss.
            if (prepared.value().scenario.cluster.rack_size >= peers) {
                arguments.set.push_back(fmt::format("cluster.rack_size={}", peers / 3));
                prepared = prepare(arguments);
                if (!prepared) return usage(prepared.error());
            }
            const Outcome outcome = run(prepared.value().scenario, prepared.value().options);
            total += points(prepared.value().scenario, outcome);
            passed += outcome.verdict == Verdict::pass ? 1 : 0;
        }
        const double mean = total / seeds;
        sum += mean;
        ++count;
        std::fputs((json ? fmt::format("{{\"scenario\":\"{}\",\"score\":{:.1f},\"passed\":{},\"seeds\":{}}}\n",
                                       scenario.name, mean, passed, seeds)
                         : fmt::format("{:<26} {:5.1f}  {} of {} passed\n", scenario.name, mean, passed, seeds))
                       .c_str(),
                   stdout);
    }
    std::fputs((json ? fmt::format("{{\"scenario\":\"all\",\"score\":{:.1f}}}\n", sum / static_cast<double>(count))
                     : fmt::format("{:<26} {:5.1f}\n", "all", sum / static_cast<double>(count)))
                   .c_str(),
               stdout);
    return 0;
}

}  // namespace

Command score_command() {
    struct Arguments {
        std::uint32_t peers = 24;
        std::uint32_t seeds = 3;
        bool json = false;
    };
    const auto arguments = std::make_shared<Arguments>();
    return {"score", "Give every scenario points out of 100 (docs/simulator.md)",
            [arguments](CommandLine& line) {
                line.number("--peers", arguments->peers, "Peers; default: 24", 24, 4096);
                line.number("--seeds", arguments->seeds, "Runs of each scenario; default: 3", 1, 1000);
                line.flag("--json", arguments->json, "Print one JSON object a line");
            },
            [arguments] { return score(arguments->peers, arguments->seeds, arguments->json); }};
}

}  // namespace exa::sim
