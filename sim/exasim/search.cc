#include "sim/exasim/search.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "exasim_commit.h"
#include "membership/config.h"
#include "sim/errc.h"
#include "sim/exasim/prepare.h"

namespace exa::sim {

namespace {

// What a child of the swarm says over its pipe.
struct Word {
    std::uint64_t number = 0;
    int verdict = 0;
    double virtual_s = 0;
    std::uint32_t peers = 0;
    std::array<char, 200> what{};
    std::array<std::array<char, 24>, 48> faults{};
};

std::string first_failure(const Outcome& outcome) {
    if (!outcome.violations.empty()) return outcome.violations[0].check + ": " + outcome.violations[0].what;
    if (!outcome.liveness.empty()) return outcome.liveness;
    return outcome.without_effect.empty() ? std::string() : "without effect: " + outcome.without_effect[0];
}

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

bool fails_alike(const Outcome& wanted, const Outcome& got) {
    if (wanted.verdict != got.verdict) return false;
    if (wanted.verdict != Verdict::invariant) return true;
    return wanted.violations[0].check == got.violations[0].check;
}

std::string text_from(const toml::table& table) {
    std::ostringstream out;
    out << table << "\n";
    return out.str();
}

// Tries smaller scenarios one after another and keeps those that still fail in the same way.
class Shrinker {
  public:
    Shrinker(std::string name, std::uint64_t seed, std::string mutant, toml::table start, Outcome wanted)
        : name_(std::move(name)),
          seed_(seed),
          mutant_(std::move(mutant)),
          best_(std::move(start)),
          wanted_(std::move(wanted)),
          outcome_(wanted_) {}

    void shrink() {
        bool smaller = true;
        while (smaller) {
            smaller = drop_faults();
            smaller = halve("cluster", "peers", 3) || smaller;
            smaller = halve("cluster", "replicas", 0) || smaller;
            smaller = halve("load", "rate", 0) || smaller;
            smaller = halve_duration() || smaller;
        }
    }
    const toml::table& best() const { return best_; }
    // How the best fails.
    const Outcome& outcome() const { return outcome_; }
    std::size_t runs() const { return runs_; }

  private:
    bool attempt(toml::table candidate) {
        ++runs_;
        auto prepared = prepare(TraceHeader{name_, text_from(candidate), {}, seed_, mutant_});
        // A host that is named may have gone with the peers: then it is not a smaller scenario.
        if (!prepared) return false;
        Outcome outcome = run(prepared.value().scenario, prepared.value().options);
        if (!fails_alike(wanted_, outcome)) return false;
        best_ = std::move(candidate);
        outcome_ = std::move(outcome);
        return true;
    }
    bool drop_faults() {
        bool any = false;
        for (std::size_t i = 0; best_["fault"].as_array() != nullptr && i < best_["fault"].as_array()->size();) {
            toml::table candidate = best_;
            candidate["fault"].as_array()->erase(candidate["fault"].as_array()->begin() +
                                                 static_cast<std::ptrdiff_t>(i));
            if (attempt(std::move(candidate)))
                any = true;
            else
                ++i;
        }
        return any;
    }
    bool halve(std::string_view table, std::string_view key, std::int64_t least) {
        const toml::node* node = best_[table].is_table() ? best_[table].as_table()->get(key) : nullptr;
        if (node == nullptr) return false;
        const auto value = static_cast<std::int64_t>(node->value_or(0.0));
        for (const std::int64_t next : {value / 2, value * 3 / 4, value - 1}) {
            if (next < least || next >= value) continue;
            toml::table candidate = best_;
            candidate[table].as_table()->insert_or_assign(key, next);
            if (attempt(std::move(candidate))) return true;
        }
        return false;
    }
    bool halve_duration() {
        const double value = best_["duration_s"].value_or(30.0);
        for (const double part : {0.5, 0.8}) {
            if (value * part < 1) continue;
            toml::table candidate = best_;
            candidate.insert_or_assign("duration_s", value * part);
            if (attempt(std::move(candidate))) return true;
        }
        return false;
    }

    std::string name_;
    std::uint64_t seed_;
    std::string mutant_;
    toml::table best_;
    Outcome wanted_;
    Outcome outcome_;
    std::size_t runs_ = 0;
};

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

}  // namespace

namespace {

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

}  // namespace

int swarm_command(const SwarmArguments& arguments) {
    const Stopwatch watch;
    std::vector<Child> children;
    Swarm swarm;
    swarm.mix = arguments.mix;
    std::uint64_t next = arguments.first;
    while (true) {
        while (children.size() < arguments.jobs && watch.seconds() < arguments.minutes * 60) {
            const auto child = start_child(arguments.mix, next);
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
        if (swarm.failures.size() > before && !arguments.json) {
            const Failure& failure = swarm.failures.back();
            std::fputs(fmt::format("FAILED exit {} {}\n  commit {}, again: {}\n", failure.verdict, failure.what, commit,
                                   again(arguments.mix, failure))
                           .c_str(),
                       stdout);
            std::fflush(stdout);
        }
    }
    std::fputs((arguments.json ? swarm_json(swarm, watch.seconds()) : swarm_text(swarm, watch.seconds())).c_str(),
               stdout);
    return swarm.failures.empty() ? 0 : swarm.failures.front().verdict;
}

int shrink_command(const RunArguments& arguments, const std::string& out) {
    auto prepared = prepare(arguments);
    if (!prepared) return usage(prepared.error());
    const Outcome wanted = run(prepared.value().scenario, prepared.value().options);
    if (wanted.verdict == Verdict::pass) return usage(error(errc::nothing_to_shrink, "this run passes"));
    const TraceHeader& header = prepared.value().header;
    const auto text = settled_text(header.scenario, header.text, header.settings);
    if (!text) return usage(text.error());
    Shrinker shrinker(header.scenario, header.seed, header.mutant, toml::parse(text.value()), wanted);
    shrinker.shrink();
    std::ofstream file(out);
    file << text_from(shrinker.best());
    file.close();
    if (!file) return usage(error(errc::not_written, out));
    const std::string what = first_failure(shrinker.outcome());
    const std::string replay = fmt::format("exasim run {} --seed {}{}", quoted(out), header.seed,
                                           header.mutant.empty() ? "" : " --mutant " + header.mutant);
    std::fputs((arguments.json ? boost::json::serialize(boost::json::object{{"ok", false},
                                                                            {"file", out},
                                                                            {"runs", shrinker.runs()},
                                                                            {"what", what},
                                                                            {"replay", replay},
                                                                            {"commit", commit}}) +
                                     "\n"
                               : fmt::format("{}\nafter {} runs: {}\nagain: {}\n", text_from(shrinker.best()),
                                             shrinker.runs(), what, replay))
                   .c_str(),
               stdout);
    return static_cast<int>(wanted.verdict);
}

int score_command(std::uint32_t peers, std::uint32_t seeds, bool json) {
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
        const double score = total / seeds;
        sum += score;
        ++count;
        std::fputs((json ? fmt::format("{{\"scenario\":\"{}\",\"score\":{:.1f},\"passed\":{},\"seeds\":{}}}\n",
                                       scenario.name, score, passed, seeds)
                         : fmt::format("{:<26} {:5.1f}  {} of {} passed\n", scenario.name, score, passed, seeds))
                       .c_str(),
                   stdout);
    }
    std::fputs((json ? fmt::format("{{\"scenario\":\"all\",\"score\":{:.1f}}}\n", sum / static_cast<double>(count))
                     : fmt::format("{:<26} {:5.1f}\n", "all", sum / static_cast<double>(count)))
                   .c_str(),
               stdout);
    return 0;
}

}  // namespace exa::sim
