// explain: one event of a run, what it carried and what led to it.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "sim/errc.h"
#include "sim/exasim/command_line.h"
#include "sim/exasim/commands.h"
#include "sim/exasim/prepare.h"
#include "sim/report/describe_packet.h"
#include "sim/report/trace_file.h"
#include "sim/run/run.h"

namespace exa::sim {

namespace {

constexpr std::size_t chain_max = 16;

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

int explain_event(const RunArguments& arguments, std::uint64_t number) {
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

}  // namespace

Command explain_command() {
    struct Arguments : RunArguments {
        std::uint64_t event = 0;
    };
    const auto arguments = std::make_shared<Arguments>();
    return {"explain", "Show an event, what it carried, and the chain of causes behind it",
            [arguments](CommandLine& line) {
                add_run_options(line, *arguments);
                line.required_number("--event", arguments->event,
                                     "The event's number, as a violation or a trace shows it");
            },
            [arguments] { return explain_event(*arguments, arguments->event); }};
}

}  // namespace exa::sim
