// swarm: random scenarios until the time is over.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exasim_commit.h"
#include "sim/errc.h"
#include "sim/exasim/command_line.h"
#include "sim/exasim/commands.h"
#include "sim/exasim/prepare.h"
#include "sim/run/run.h"
#include "sim/scenarios/random_scenario.h"

namespace exa::sim {

namespace {

struct SwarmArguments {
    double minutes = 1;
    std::uint32_t jobs = 1;
    std::uint64_t first = 1;  // number of the first random scenario
    std::string mix = "all";
    bool json = false;  // one object at the end, in place of a line as each failure comes

    RandomMix random_mix() const { return mix == "kv" ? RandomMix::kv : RandomMix::all; }
};

// What a child of the swarm says over its pipe.
struct Word {
    std::uint64_t number = 0;
    int verdict = 0;
    double virtual_s = 0;
    std::uint32_t peers = 0;
    std::array<char, 200> what{};
    std::array<std::array<char, 24>, 48> faults{};
};

template <std::size_t N>
void copy(std::string_view text, std::array<char, N>& out) {
    text.copy(out.data(), std::min(text.size(), N - 1));
}

// In a process of its own, so that a check that aborts is a finding and not the end of the swarm.
void run_child(RandomMix mix, std::uint64_t number, int pipe) {
    Word word;
    word.number = number;
    RunArguments arguments;
    arguments.scenario = fmt::format("{}:{}", name_of(mix), number);
    arguments.seed = number;
    auto prepared = prepare(arguments);
    if (!prepared) {
        word.verdict = usage(prepared.error());
    } else {
        const Outcome outcome = run(prepared.value().scenario, prepared.value().options);
        word.verdict = static_cast<int>(outcome.verdict);
        word.virtual_s = seconds_of(outcome.virtual_time);
        word.peers = prepared.value().scenario.cluster.peers;
        copy(first_failure(outcome), word.what);
        std::size_t at = 0;
        for (const auto& [name, effects] : outcome.faults)
            if (effects > 0 && at < word.faults.size()) copy(name, word.faults[at++]);
    }
    const ssize_t written = write(pipe, &word, sizeof(word));
    _exit(written == sizeof(word) ? 0 : 1);
}

struct Child {
    pid_t pid = 0;
    int pipe = -1;
    std::uint64_t number = 0;
};

std::optional<Child> start_child(RandomMix mix, std::uint64_t number) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) return std::nullopt;
    std::fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        run_child(mix, number, ends[1]);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return std::nullopt;
    }
    return Child{pid, ends[0], number};
}

struct Failure {
    std::uint64_t number = 0;
    int verdict = 0;
    std::string what;
};

// What a swarm has seen.
struct Swarm {
    RandomMix mix = RandomMix::all;
    std::map<std::string, std::uint64_t> faults;  // runs in which each had an effect
    std::vector<Failure> failures;
    std::uint64_t runs = 0;
    std::uint32_t peers_min = 0;
    std::uint32_t peers_max = 0;
    double virtual_s = 0;

    void take(const Word& word) {
        ++runs;
        virtual_s += word.virtual_s;
        if (word.peers > 0) {
            peers_min = peers_min == 0 ? word.peers : std::min(peers_min, word.peers);
            peers_max = std::max(peers_max, word.peers);
        }
        for (const auto& name : word.faults)
            if (name[0] != 0) ++faults[name.data()];
        // A fault that hit nobody says something about the random plan, not about the cluster.
        if (word.verdict != 0 && word.verdict != static_cast<int>(Verdict::no_effect))
            failures.push_back({word.number, word.verdict, word.what.data()});
    }
    std::vector<std::string> never_fired() const {
        std::vector<std::string> names;
        for (const std::string_view kind : faults_of(mix))
            if (!faults.contains(std::string(kind))) names.emplace_back(kind);
        return names;
    }
};

std::string again(RandomMix mix, const Failure& failure) {
    return fmt::format("exasim run {}:{} --seed {}", name_of(mix), failure.number, failure.number);
}

// Of one run that has ended.
std::string run_line(RandomMix mix, const Word& word, bool failed) {
    std::string line = fmt::format("{:<6} {}:{}, {} peers, {:.0f} s\n", failed ? "FAILED" : "pass", name_of(mix),
                                   word.number, word.peers, word.virtual_s);
    if (failed)
        line += fmt::format("  exit {} {}\n  commit {}, again: {}\n", word.verdict, word.what.data(), commit,
                            again(mix, {word.number, word.verdict, {}}));
    return line;
}

std::string swarm_json(const Swarm& swarm, double wall_s) {
    boost::json::array failures;
    for (const Failure& failure : swarm.failures)
        failures.push_back(boost::json::object{{"exit", failure.verdict},
                                               {"what", failure.what},
                                               {"replay", again(swarm.mix, failure)},
                                               {"commit", commit}});
    boost::json::object faults;
    for (const auto& [name, runs] : swarm.faults) faults[name] = runs;
    return boost::json::serialize(boost::json::object{{"ok", swarm.failures.empty()},
                                                      {"runs", swarm.runs},
                                                      {"virtual_h", swarm.virtual_s / 3600},
                                                      {"wall_s", wall_s},
                                                      {"peers_min", swarm.peers_min},
                                                      {"peers_max", swarm.peers_max},
                                                      {"failures", std::move(failures)},
                                                      {"faults", std::move(faults)},
                                                      {"never_fired", boost::json::value_from(swarm.never_fired())}}) +
           "\n";
}

std::string swarm_text(const Swarm& swarm, double wall_s) {
    std::string text =
        fmt::format("{} runs, {} failures, {:.2f} virtual hours of {} to {} peers in {:.0f} s\n", swarm.runs,
                    swarm.failures.size(), swarm.virtual_s / 3600, swarm.peers_min, swarm.peers_max, wall_s);
    for (const auto& [name, runs] : swarm.faults) text += fmt::format("  {:<20} in {} runs\n", name, runs);
    if (const auto never = swarm.never_fired(); !never.empty())
        text += fmt::format("  no effect in any run: {}\n", fmt::join(never, ", "));
    return text;
}

// Random scenarios, one a process, `jobs` at once, until the time is over. Prints every failure with the command that
// repeats it; the code is that of the first one.
int run_swarm(const SwarmArguments& arguments) {
    const Stopwatch watch;
    std::vector<Child> children;
    Swarm swarm;
    swarm.mix = arguments.random_mix();
    std::uint64_t next = arguments.first;
    while (true) {
        while (children.size() < arguments.jobs && watch.seconds() < arguments.minutes * 60) {
            const auto child = start_child(arguments.random_mix(), next);
            if (!child) return usage(error(errc::bad_scenario, "no process can be started"));
            children.push_back(*child);
            ++next;
        }
        if (children.empty()) break;
        int status = 0;
        const pid_t ended = wait(&status);
        const auto at = std::ranges::find(children, ended, &Child::pid);
        if (at == children.end()) continue;
        Word word;
        const ssize_t got = read(at->pipe, &word, sizeof(word));
        close(at->pipe);
        if (got != sizeof(word)) {
            word = Word{};
            word.number = at->number;
            word.verdict = static_cast<int>(Verdict::invariant);
            copy(fmt::format("the process ended with status {}", status), word.what);
        }
        children.erase(at);
        const std::size_t before = swarm.failures.size();
        swarm.take(word);
        if (!arguments.json) {
            const bool failed = swarm.failures.size() > before;
            std::fputs(run_line(swarm.mix, word, failed).c_str(), stdout);
            std::fflush(stdout);
        }
    }
    std::fputs((arguments.json ? swarm_json(swarm, watch.seconds()) : swarm_text(swarm, watch.seconds())).c_str(),
               stdout);
    return swarm.failures.empty() ? 0 : swarm.failures.front().verdict;
}

}  // namespace

Command swarm_command() {
    const auto arguments = std::make_shared<SwarmArguments>();
    return {"swarm", "Run random scenarios until the time is over",
            [arguments](CommandLine& line) {
                line.number("--minutes", arguments->minutes, "Minutes to run; default: 1", 0.01, 1e5);
                line.number("--jobs", arguments->jobs, "Processes at the same time; default: 1", 1, 256);
                line.number("--seed", arguments->first, "Number of the first random scenario; default: 1");
                line.choice("--mix", arguments->mix, {"all", "kv"},
                            "Kinds of scenarios: all, or kv for those that exercise the KV cache; default: all");
                line.flag("--json", arguments->json, "Print one JSON object");
            },
            [arguments] { return run_swarm(*arguments); }};
}

}  // namespace exa::sim
