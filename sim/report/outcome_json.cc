#include "sim/report/outcome_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

namespace exa::sim {

namespace {

namespace json = boost::json;

// Fewer are listed one by one, so that the percentiles of several runs can be taken together.
constexpr std::size_t values_listed_max = 256;

// Six digits are microseconds, and more are noise.
double rounded(double value) {
    return std::round(value * 1e6) / 1e6;
}

json::value times(const std::vector<double>& values) {
    if (values.empty()) return nullptr;
    json::object object{{"count", values.size()},
                        {"p50", rounded(percentile(values, 50))},
                        {"p99", rounded(percentile(values, 99))},
                        {"max", rounded(percentile(values, 100))}};
    if (values.size() <= values_listed_max) {
        json::array all;
        for (const double value : values) all.push_back(rounded(value));
        object["values"] = std::move(all);
    }
    return object;
}

json::value optional(const std::optional<double>& value) {
    return value ? json::value(rounded(*value)) : json::value(nullptr);
}

std::string_view verdict_text(Verdict verdict) {
    switch (verdict) {
        case Verdict::pass:
            return "pass";
        case Verdict::invariant:
            return "invariant";
        case Verdict::usage:
            return "usage";
        case Verdict::liveness:
            return "liveness";
        case Verdict::non_determinism:
            return "non-determinism";
        case Verdict::no_effect:
            return "no-effect";
    }
    return "?";
}

std::string line(std::string_view name, const std::vector<double>& values) {
    if (values.empty()) return {};
    return fmt::format("  {:<16} p50 {:.3f}  p99 {:.3f}  max {:.3f}  of {}\n", name, percentile(values, 50),
                       percentile(values, 99), percentile(values, 100), values.size());
}

json::object requests_json(const TrafficCounters& traffic) {
    return {{"all", traffic.requests},
            {"finished", traffic.finished},
            {"rejected", traffic.rejected},
            {"broken", traffic.broken},
            {"ingress_lost", traffic.ingress_lost},
            {"abandoned", traffic.abandoned},
            {"client_errors", traffic.client_errors},
            {"sent_away", traffic.refused},
            {"busy", traffic.busy},
            {"waited", traffic.waited},
            {"attempts", traffic.attempts},
            {"sdk_retries", traffic.sdk_retries},
            {"resumed", traffic.resumed},
            {"tokens", traffic.tokens},
            {"first_token_s", times(traffic.first_token_s)},
            {"lost_to_silence_s", times(traffic.lost_to_silence_s)}};
}

json::object metrics_json(const Outcome& outcome) {
    const Measured& measured = outcome.measured;
    json::object metrics{{"detect_all_s", times(measured.detect_all)},
                         {"detect_first_s", times(measured.detect_first)},
                         {"view_spread_s", times(measured.spread)},
                         {"join_all_s", times(measured.join_all)},
                         {"ready_all_s", optional(measured.ready_all)},
                         {"settle_s", optional(measured.settle)},
                         {"ring_changes", measured.ring_changes},
                         {"bytes_per_peer_s", rounded(outcome.bytes_per_peer_s)},
                         {"packets_per_peer_s", rounded(outcome.packets_per_peer_s)},
                         {"link_bytes_per_peer_s", rounded(outcome.link_bytes_per_peer_s)},
                         {"false_deaths", measured.false_deaths},
                         {"excused_deaths", measured.excused_deaths},
                         {"left_as_dead", measured.left_as_dead},
                         {"suspicions", measured.suspicions},
                         {"most_held", json::object{{"members", measured.sizes.peers},
                                                    {"tombstones", measured.sizes.tombstones},
                                                    {"updates", measured.sizes.updates},
                                                    {"timers", measured.sizes.timers},
                                                    {"indirect_probes", measured.sizes.indirect_probes}}}};
    if (outcome.traffic.requests > 0) metrics["requests"] = requests_json(outcome.traffic);
    return metrics;
}

}  // namespace

std::string hex(std::uint64_t value) {
    return fmt::format("{:016x}", value);
}

double percentile(std::vector<double> values, double percent) {
    if (values.empty()) return 0;
    std::ranges::sort(values);
    const double rank = std::ceil(percent / 100 * static_cast<double>(values.size()));
    return values[std::min(values.size() - 1, static_cast<std::size_t>(std::max(rank, 1.0)) - 1)];
}

std::string to_json(const RunIdentity& identity, const Outcome& outcome, const RunTime& time) {
    const double virtual_s = seconds_of(outcome.virtual_time);
    const double wall_s = time.all_s;
    const auto factor_of = [&](double spent_s) { return rounded(spent_s > 0 ? time.measured_virtual_s / spent_s : 0); };
    json::object faults;
    for (const auto& [name, effects] : outcome.faults) faults[name] = effects;
    json::array violations;
    for (const Violation& violation : outcome.violations)
        violations.push_back(json::object{{"check", violation.check},
                                          {"what", violation.what},
                                          {"at_s", seconds_of(violation.at)},
                                          {"event", violation.entry}});
    json::object root{{"ok", outcome.verdict == Verdict::pass},
                      {"verdict", verdict_text(outcome.verdict)},
                      {"scenario", identity.scenario},
                      {"scenario_hash", hex(identity.hash)},
                      {"commit", identity.commit},
                      {"seed", identity.seed},
                      {"trace_hash", hex(outcome.trace_hash)},
                      {"events", outcome.events},
                      {"virtual_s", rounded(virtual_s)},
                      {"wall_s", rounded(wall_s)},
                      {"realtime_factor", rounded(wall_s > 0 ? virtual_s / wall_s : 0)},
                      {"measured_realtime_factor", factor_of(time.measured_s)},
                      {"measured_cpu_factor", factor_of(time.measured_cpu_s)},
                      {"faults", std::move(faults)},
                      {"without_effect", json::value_from(outcome.without_effect)},
                      {"violation_count", outcome.violation_count},
                      {"violations", std::move(violations)},
                      {"liveness", outcome.liveness},
                      {"metrics", metrics_json(outcome)},
                      {"replay", identity.command}};
    return json::serialize(root) + "\n";
}

std::string to_text(const RunIdentity& identity, const Outcome& outcome, const RunTime& time) {
    const double virtual_s = seconds_of(outcome.virtual_time);
    const double wall_s = time.all_s;
    std::string text = fmt::format("{} seed {}: {}, {:.1f} s in {:.2f} s ({:.0f}x), {} events, trace {}\n",
                                   identity.scenario, identity.seed, verdict_text(outcome.verdict), virtual_s, wall_s,
                                   wall_s > 0 ? virtual_s / wall_s : 0, outcome.events, hex(outcome.trace_hash));
    const Measured& measured = outcome.measured;
    text += line("detect_all_s", measured.detect_all) + line("view_spread_s", measured.spread) +
            line("join_all_s", measured.join_all) + line("first_token_s", outcome.traffic.first_token_s) +
            line("lost_to_silence_s", outcome.traffic.lost_to_silence_s);
    if (measured.ready_all) text += fmt::format("  ready_all_s      {:.3f}\n", *measured.ready_all);
    if (measured.settle) text += fmt::format("  settle_s         {:.0f}\n", *measured.settle);
    text += fmt::format("  per peer         {:.1f} bytes/s in {:.2f} packets/s, links {:.1f} bytes/s\n",
                        outcome.bytes_per_peer_s, outcome.packets_per_peer_s, outcome.link_bytes_per_peer_s);
    text += fmt::format("  false deaths     {} (excused {}), suspicions {}, ring changes {}\n", measured.false_deaths,
                        measured.excused_deaths, measured.suspicions, measured.ring_changes);
    const TrafficCounters& traffic = outcome.traffic;
    if (traffic.requests > 0)
        text += fmt::format(
            "  requests         {}: {} finished, {} rejected, {} broken, {} lost with their ingress, {} abandoned; "
            "{} attempts\n",
            traffic.requests, traffic.finished, traffic.rejected, traffic.broken, traffic.ingress_lost,
            traffic.abandoned, traffic.attempts);
    for (const auto& [name, effects] : outcome.faults) text += fmt::format("  {:<16} {} times\n", name, effects);
    if (outcome.verdict == Verdict::pass) return text;
    for (const Violation& violation : outcome.violations)
        text += fmt::format("VIOLATION {} at {:.6f} s, event {}: {}\n", violation.check, seconds_of(violation.at),
                            violation.entry, violation.what);
    if (outcome.violation_count > outcome.violations.size())
        text += fmt::format("... and {} more\n", outcome.violation_count - outcome.violations.size());
    if (!outcome.liveness.empty()) text += fmt::format("NOT SETTLED {}\n", outcome.liveness);
    for (const std::string& name : outcome.without_effect) text += fmt::format("WITHOUT EFFECT {}\n", name);
    text += fmt::format("commit {}, seed {}, scenario {}\nagain: {}\n", identity.commit, identity.seed,
                        hex(identity.hash), identity.command);
    return text;
}

}  // namespace exa::sim
