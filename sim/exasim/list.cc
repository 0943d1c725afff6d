// list: the built-in scenarios.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "sim/exasim/command_line.h"
#include "sim/exasim/commands.h"
#include "sim/exasim/prepare.h"
#include "sim/scenarios/scenario.h"

namespace exa::sim {

namespace {

int list_scenarios(bool json) {
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

}  // namespace

Command list_command() {
    const auto json = std::make_shared<bool>(false);
    return {"list", "List the built-in scenarios and what each watches",
            [json](CommandLine& line) { line.flag("--json", *json, "Print one JSON object a line"); },
            [json] { return list_scenarios(*json); }};
}

}  // namespace exa::sim
