#include "loadgen/report_json.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>

namespace exa::loadgen {

namespace {

namespace json = boost::json;

// To a thousandth: more digits would only look like knowledge.
double rounded(double value) {
    return std::round(value * 1e3) / 1e3;
}

json::object latency_json(const Histogram& histogram) {
    json::object out;
    out["count"] = histogram.count();
    for (const Percentile& percentile : percentiles)
        out[percentile.name] = to_ms(histogram.percentile(percentile.share));
    out["min"] = to_ms(histogram.min());
    out["mean"] = rounded(histogram.mean() / 1e3);
    out["max"] = to_ms(histogram.max());
    return out;
}

json::object config_json(const Report& report) {
    const Config& config = report.config;
    json::object out;
    out["targets"] = json::array(report.targets.begin(), report.targets.end());
    out["model"] = config.model;
    out["api"] = to_string(config.api);
    out["stream"] = config.stream;
    out["arrivals"] = to_string(config.arrivals);
    if (config.arrivals == ArrivalKind::closed) out["concurrency"] = config.concurrency;
    if (config.arrivals == ArrivalKind::fixed || config.arrivals == ArrivalKind::poisson) out["rate"] = config.rate;
    if (config.arrivals == ArrivalKind::trace) out["trace_speed"] = config.trace_speed;
    out["duration_s"] = to_seconds(config.duration);
    out["warmup_s"] = to_seconds(config.warmup);
    out["grace_s"] = to_seconds(config.grace);
    out["requests"] = config.requests;
    out["prompt_tokens"] = config.prompt_tokens.to_string();
    out["output_tokens"] = config.output_tokens.to_string();
    out["turns"] = config.turns ? json::value(config.turns->to_string()) : json::value(nullptr);
    out["think_s"] = config.think_seconds.to_string();
    out["system_prompts"] = config.system_prompts;
    out["system_tokens"] = config.system_tokens.to_string();
    out["session_ids"] = to_string(config.session_ids);
    out["spread"] = to_string(config.spread);
    out["moves"] = config.moves;
    out["retries"] = config.retries;
    out["threads"] = config.threads;
    out["seed"] = config.seed;
    return out;
}

json::object counts_json(const Recorder& recorder) {
    json::object out;
    out["requests"] = recorder.due().finished();
    out["succeeded"] = recorder.due().succeeded;
    out["failed"] = recorder.due().failed;
    out["met_slo"] = recorder.due().met;
    out["retries"] = recorder.retries();
    out["cut_off"] = recorder.cut_off_count();
    out["events"] = recorder.tokens();
    out["prompt_tokens"] = recorder.prompt_tokens();
    out["output_tokens"] = recorder.output_tokens();
    return out;
}

json::object errors_json(const Recorder& recorder) {
    json::object out;
    for (const auto& [status, count] : recorder.statuses()) out["status_" + std::to_string(status)] = count;
    for (std::size_t kind = 0; kind < failure_kinds; ++kind) {
        const auto failure = static_cast<Failure>(kind);
        const std::uint64_t count = recorder.failures()[kind];
        if (count > 0 && failure != Failure::status) out[to_string(failure)] = count;
    }
    return out;
}

json::object samples_json(const Recorder& recorder) {
    json::object out;
    for (const auto& [key, message] : recorder.samples()) out[key] = message;
    return out;
}

json::array targets_json(const Report& report) {
    json::array out;
    for (std::size_t i = 0; i < report.targets.size(); ++i) {
        const Tally& tally = report.recorder.targets()[i];
        out.push_back(
            json::object{{"url", report.targets[i]}, {"succeeded", tally.succeeded}, {"failed", tally.failed}});
    }
    return out;
}

json::object slo_json(const Report& report, const Summary& summary) {
    const Slo& slo = report.config.slo;
    return {{"ttft_ms", to_ms(static_cast<std::uint64_t>(slo.ttft.count()))},
            {"tbt_p99_ms", to_ms(static_cast<std::uint64_t>(slo.tbt.count()))},
            {"share", slo.share},
            {"attained", summary.attained},
            {"holds", summary.holds}};
}

json::value optional_json(std::optional<double> value) {
    return value ? json::value(rounded(*value)) : json::value(nullptr);
}

json::object ramp_json(const Report& report) {
    json::array steps;
    for (std::size_t i = 0; i < report.steps.size(); ++i) {
        const Step& step = report.steps[i];
        json::object out{{"rate", rounded(step.rate)}, {"finished", step.result.finished},
                         {"met_slo", step.result.met}, {"overdue", step.result.overdue},
                         {"attained", step.attained},  {"holds", step.holds}};
        if (i < report.recorder.phases().size()) {
            const Phase& phase = report.recorder.phases()[i];
            out["ttft_p99_ms"] = to_ms(phase.ttft_us.percentile(0.99));
            out["tbt_p99_ms"] = to_ms(phase.tbt_us.percentile(0.99));
        }
        steps.push_back(std::move(out));
    }
    return {{"knee_requests_per_s", optional_json(report.knee)},
            {"broken_requests_per_s", optional_json(report.broken)},
            {"steps", std::move(steps)}};
}

json::array disturbances_json(const Report& report) {
    json::array out;
    for (std::size_t i = 0; i < report.disturbances.size(); ++i) {
        const Disturbance& disturbance = report.disturbances[i];
        json::object one{{"at_s", rounded(to_seconds(disturbance.at - report.start))},
                         {"command", disturbance.command}};
        one["exit_code"] = disturbance.exit_code ? json::value(*disturbance.exit_code) : json::value(nullptr);
        if (i < report.recorder.phases().size()) {
            const Phase& phase = report.recorder.phases()[i];
            one["succeeded"] = phase.requests.succeeded;
            one["failed"] = phase.requests.failed;
            one["missed_slo"] = phase.requests.finished() - phase.requests.met;
            one["longest_gap_ms"] = to_ms(static_cast<std::uint64_t>(phase.stall_max.count()));
            one["troubled_s"] = rounded(to_seconds(phase.troubled_until - phase.start));
        }
        out.push_back(std::move(one));
    }
    return out;
}

}  // namespace

std::string report_json(const Report& report) {
    const Summary summary = summarize(report);
    const Recorder& recorder = report.recorder;
    json::object out;
    out["name"] = report.name;
    out["preset"] = report.preset;
    out["started_at"] = report.started.unix_seconds();
    out["took_s"] = rounded(to_seconds(report.took));
    out["measured_s"] = rounded(summary.measured_s);
    out["interrupted"] = report.interrupted;
    out["config"] = config_json(report);
    out["counts"] = counts_json(recorder);
    out["rates"] = json::object{{"requests_per_s", rounded(summary.requests_per_s)},
                                {"goodput_per_s", rounded(summary.goodput_per_s)},
                                {"output_tokens_per_s", rounded(summary.output_tokens_per_s)},
                                {"events_per_s", rounded(summary.events_per_s)}};
    out["percentiles"] = json::object{{"ttft_ms", latency_json(recorder.ttft_us())},
                                      {"tbt_ms", latency_json(recorder.tbt_us())},
                                      {"e2e_ms", latency_json(recorder.e2e_us())}};
    out["longest_gap_ms"] = to_ms(static_cast<std::uint64_t>(recorder.stall_max().count()));
    out["slo"] = slo_json(report, summary);
    out["errors"] = errors_json(recorder);
    out["error_samples"] = samples_json(recorder);
    out["targets"] = targets_json(report);
    if (!report.steps.empty()) out["ramp"] = ramp_json(report);
    if (!report.disturbances.empty()) out["disturbances"] = disturbances_json(report);
    return json::serialize(out);
}

}  // namespace exa::loadgen
