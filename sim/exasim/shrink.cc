// shrink: the smallest scenario that still fails in the same way.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
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

// Times below it are short enough.
constexpr double shortest_s = 1;

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
            smaller = halve_once(table_named("cluster"), "peers", 3) || smaller;
            smaller = halve_once(table_named("cluster"), "replicas", 0) || smaller;
            smaller = halve_once(table_named("load"), "rate", 0) || smaller;
            smaller =
                shorten([](toml::table& scenario) { return &scenario; }, {"duration_s", "measure_from_s"}) || smaller;
            for (const std::string_view name : {"cluster", "load", "kv"})
                smaller = shorten(table_named(name), {"start_spread_s", "from_s", "until_s"}) || smaller;
            smaller = shorten_faults() || smaller;
        }
        drop_unmet();
    }
    const toml::table& best() const { return best_; }
    // How the best fails.
    const Outcome& outcome() const { return outcome_; }
    std::size_t runs() const { return runs_; }

  private:
    // A table of a scenario; null: it has none.
    using Find = std::function<toml::table*(toml::table&)>;

    static Find table_named(std::string_view name) {
        return [name](toml::table& scenario) { return scenario[name].as_table(); };
    }
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
    bool halve_once(const Find& find, std::string_view key, std::int64_t least) {
        const toml::table* now = find(best_);
        const toml::node* node = now != nullptr ? now->get(key) : nullptr;
        if (node == nullptr) return false;
        const auto value = static_cast<std::int64_t>(node->value_or(0.0));
        for (const std::int64_t next : {value / 2, value * 3 / 4, value - 1}) {
            if (next < least || next >= value) continue;
            toml::table candidate = best_;
            find(candidate)->insert_or_assign(key, next);
            if (attempt(std::move(candidate))) return true;
        }
        return false;
    }
    // Makes times of the table that `find` names in a scenario smaller, as long as that helps.
    bool shorten(const Find& find, std::initializer_list<std::string_view> keys) {
        bool any = false;
        for (const std::string_view key : keys) {
            while (shorten_once(find, key)) any = true;
        }
        return any;
    }
    bool shorten_once(const Find& find, std::string_view key) {
        const toml::table* now = find(best_);
        const toml::node* node = now != nullptr ? now->get(key) : nullptr;
        const auto value = node != nullptr ? node->value<double>() : std::nullopt;
        if (!value || *value < shortest_s) return false;
        for (const double part : {0.5, 0.8}) {
            toml::table candidate = best_;
            find(candidate)->insert_or_assign(key, std::round(*value * part * 1000) / 1000);
            if (attempt(std::move(candidate))) return true;
        }
        return false;
    }
    bool shorten_faults() {
        bool any = false;
        for (std::size_t i = 0; best_["fault"].as_array() != nullptr && i < best_["fault"].as_array()->size(); ++i) {
            const auto fault = [i](toml::table& scenario) { return scenario["fault"].as_array()->get(i)->as_table(); };
            any = shorten(fault, {"for_s", "every_s", "at_s"}) || any;
            for (const std::string_view key : {"times", "count"})
                while (halve_once(fault, key, 1)) any = true;
        }
        return any;
    }
    // What was required to happen, and does not in the smallest scenario, went with what made it happen.
    void drop_unmet() {
        const toml::array* required = best_["must_happen"].as_array();
        if (required == nullptr || wanted_.verdict == Verdict::no_effect) return;
        toml::array met;
        for (const toml::node& name : *required) {
            const auto& unmet = outcome_.without_effect;
            if (std::ranges::find(unmet, name.value_or(std::string())) == unmet.end()) met.push_back(name);
        }
        toml::table candidate = best_;
        candidate.insert_or_assign("must_happen", std::move(met));
        attempt(std::move(candidate));
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
    toml::table start = toml::parse(text.value());
    // The file says all that the failure needs.
    if (header.seed <= std::numeric_limits<std::int64_t>::max())
        start.insert_or_assign("seed", static_cast<std::int64_t>(header.seed));
    if (!start.contains("duration_s"))
        start.insert_or_assign("duration_s", seconds_of(prepared.value().scenario.duration));
    Shrinker shrinker(header.scenario, header.seed, header.mutant, std::move(start), wanted);
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
