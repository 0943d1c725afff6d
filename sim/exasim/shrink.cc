// shrink: the smallest scenario that still fails in the same way.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "exasim_commit.h"
#include "sim/errc.h"
#include "sim/exasim/command_line.h"
#include "sim/exasim/commands.h"
#include "sim/exasim/prepare.h"
#include "sim/run/run.h"

namespace exa::sim {

namespace {

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

// Takes entries out of the plan, then peers, replicas, load and time, as long as the run still fails in the same way,
// and writes the scenario that is left.
int shrink(const RunArguments& arguments, const std::string& out) {
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

}  // namespace

Command shrink_command() {
    struct Arguments : RunArguments {
        std::string out = "shrunk.toml";
    };
    const auto arguments = std::make_shared<Arguments>();
    return {"shrink", "Find the smallest scenario that still fails in the same way",
            [arguments](CommandLine& line) {
                add_run_options(line, *arguments);
                line.text("--out", arguments->out, "Scenario file to write; default: shrunk.toml");
            },
            [arguments] { return shrink(*arguments, arguments->out); }};
}

}  // namespace exa::sim
