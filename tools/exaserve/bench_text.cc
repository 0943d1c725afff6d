#include "exaserve/bench_text.h"

#include <cmath>
#include <cstdio>

namespace exa::cli {

namespace {

using loadgen::Report;
using loadgen::Summary;

std::string number(double value, int decimals, const char* unit) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*f%s", decimals, value, unit);
    return text;
}

int decimals_of(double value) {
    return value < 10 ? 2 : value < 100 ? 1 : 0;
}

std::string percent(double share) {
    // 99.99 of 100 is not everything.
    return number(std::floor(share * 1e4) / 100, 2, " %");
}

std::string headline(const Report& report, const Summary& summary) {
    const auto& recorder = report.recorder;
    std::string text = report.name + ": " + report.config.model + ", ";
    if (!report.steps.empty())
        text += "ramp";
    else if (report.config.is_open())
        text += std::string(to_string(report.config.arrivals)) + " arrivals";
    else
        text += std::to_string(report.config.concurrency) + " clients";
    text += report.config.stream ? ", streaming" : ", in one piece";
    text += ", " + number(summary.measured_s, 1, " s") + " measured" + (report.interrupted ? " (interrupted)" : "");
    text += "\n\n";
    text += "requests   " + std::to_string(recorder.due().finished()) + " (" +
            std::to_string(recorder.due().succeeded) + " succeeded, " + std::to_string(recorder.due().failed) +
            " failed";
    if (recorder.retries() > 0) text += ", " + std::to_string(recorder.retries()) + " retries";
    if (recorder.cut_off_count() > 0) text += ", " + std::to_string(recorder.cut_off_count()) + " cut off at the end";
    text += ")\n";
    text += "rate       " + human_rate(summary.requests_per_s) + " requests/s, " +
            human_rate(summary.output_tokens_per_s) + " output tokens/s\n";
    text += "goodput    " + human_rate(summary.goodput_per_s) + " requests/s within the objective\n";
    return text;
}

std::string slo_line(const Report& report, const Summary& summary) {
    const auto& slo = report.config.slo;
    const std::string verdict = report.steps.empty() ? std::string(summary.holds ? "; holds (" : "; does not hold (") +
                                                           percent(slo.share) + " wanted)"
                                                     : std::string(" (all steps together)");
    return "objective  " + percent(summary.attained) +
           " of requests: TTFT <= " + human_latency(static_cast<std::uint64_t>(slo.ttft.count())) +
           ", p99 TBT <= " + human_latency(static_cast<std::uint64_t>(slo.tbt.count())) + verdict + "\n";
}

std::string latency_table(const Report& report, Style style) {
    if (report.recorder.ttft_us().count() == 0) return {};
    std::vector<Column> columns = {{"LATENCY", Align::left}};
    for (const auto& percentile : loadgen::percentiles) columns.push_back({percentile.name, Align::right});
    columns.push_back({"max", Align::right});
    columns.push_back({"mean", Align::right});
    Table table(columns);
    const auto add = [&](const char* name, const loadgen::Histogram& histogram) {
        if (histogram.count() == 0) return;
        std::vector<std::string> cells = {name};
        for (const auto& percentile : loadgen::percentiles)
            cells.push_back(human_latency(histogram.percentile(percentile.share)));
        cells.push_back(human_latency(histogram.max()));
        cells.push_back(human_latency(static_cast<std::uint64_t>(std::llround(histogram.mean()))));
        table.add_row(std::move(cells));
    };
    add("first token (TTFT)", report.recorder.ttft_us());
    add("between tokens (TBT)", report.recorder.tbt_us());
    add("whole answer (E2E)", report.recorder.e2e_us());
    return "\n" + table.render(style);
}

std::string error_table(const Report& report, Style style) {
    const auto& recorder = report.recorder;
    if (recorder.due().failed == 0) return {};
    Table table({{"FAILURE", Align::left}, {"count", Align::right}, {"first message", Align::left}});
    const auto add = [&](const std::string& key, std::uint64_t count) {
        const auto sample = recorder.samples().find(key);
        table.add_row({key, std::to_string(count), sample == recorder.samples().end() ? "" : sample->second});
    };
    for (const auto& [status, count] : recorder.statuses()) add("status_" + std::to_string(status), count);
    for (std::size_t kind = 0; kind < loadgen::failure_kinds; ++kind) {
        const auto failure = static_cast<loadgen::Failure>(kind);
        if (failure != loadgen::Failure::status && recorder.failures()[kind] > 0)
            add(std::string(to_string(failure)), recorder.failures()[kind]);
    }
    return "\n" + table.render(style);
}

std::string target_table(const Report& report, Style style) {
    if (report.targets.size() < 2) return {};
    Table table({{"TARGET", Align::left}, {"succeeded", Align::right}, {"failed", Align::right}});
    for (std::size_t i = 0; i < report.targets.size(); ++i) {
        const auto& tally = report.recorder.targets()[i];
        table.add_row({report.targets[i], std::to_string(tally.succeeded), std::to_string(tally.failed)});
    }
    return "\n" + table.render(style);
}

std::string ramp_table(const Report& report, Style style) {
    if (report.steps.empty()) return {};
    Table table({{"RATE", Align::right},
                 {"finished", Align::right},
                 {"overdue", Align::right},
                 {"attained", Align::right},
                 {"p99 TTFT", Align::right},
                 {"p99 TBT", Align::right},
                 {"", Align::left}});
    for (std::size_t i = 0; i < report.steps.size(); ++i) {
        const auto& step = report.steps[i];
        const bool known = i < report.recorder.phases().size();
        const auto p99 = [&](const loadgen::Histogram loadgen::Phase::* which) {
            return known ? human_latency((report.recorder.phases()[i].*which).percentile(0.99)) : std::string("-");
        };
        table.add_row({human_rate(step.rate) + "/s", std::to_string(step.result.finished),
                       std::to_string(step.result.overdue), percent(step.attained), p99(&loadgen::Phase::ttft_us),
                       p99(&loadgen::Phase::tbt_us), step.holds ? "holds" : "breaks"});
    }
    std::string text = "\n" + table.render(style) + "\n";
    if (report.knee)
        text += "knee: " + human_rate(*report.knee) + " requests/s held" +
                (report.broken ? ", " + human_rate(*report.broken) + " did not\n" : "; nothing broke\n");
    else
        text += "knee: no rate held\n";
    return text;
}

std::string disturbance_table(const Report& report, Style style) {
    if (report.disturbances.empty()) return {};
    Table table({{"DISTURBED AT", Align::right},
                 {"exit", Align::right},
                 {"succeeded", Align::right},
                 {"failed", Align::right},
                 {"missed", Align::right},
                 {"longest gap", Align::right},
                 {"troubled for", Align::right}});
    for (std::size_t i = 0; i < report.disturbances.size(); ++i) {
        const auto& disturbance = report.disturbances[i];
        std::vector<std::string> cells = {number(loadgen::to_seconds(disturbance.at - report.start), 1, " s"),
                                          disturbance.exit_code ? std::to_string(*disturbance.exit_code) : "-"};
        if (i < report.recorder.phases().size()) {
            const auto& phase = report.recorder.phases()[i];
            cells.push_back(std::to_string(phase.requests.succeeded));
            cells.push_back(std::to_string(phase.requests.failed));
            cells.push_back(std::to_string(phase.requests.finished() - phase.requests.met));
            cells.push_back(human_latency(static_cast<std::uint64_t>(phase.stall_max.count())));
            cells.push_back(number(loadgen::to_seconds(phase.troubled_until - phase.start), 1, " s"));
        } else {
            cells.resize(7, "-");
        }
        table.add_row(std::move(cells));
    }
    return "\n" + table.render(style);
}

}  // namespace

std::string human_latency(std::uint64_t us) {
    const auto value = static_cast<double>(us);
    if (value < 1e3) return number(value, 0, " us");
    if (value < 1e6) return number(value / 1e3, decimals_of(value / 1e3), " ms");
    return number(value / 1e6, decimals_of(value / 1e6), " s");
}

std::string human_rate(double per_second) {
    return number(per_second, decimals_of(per_second), "");
}

std::string bench_text(const Report& report, Style style) {
    const Summary summary = loadgen::summarize(report);
    return headline(report, summary) + slo_line(report, summary) + latency_table(report, style) +
           ramp_table(report, style) + disturbance_table(report, style) + target_table(report, style) +
           error_table(report, style);
}

}  // namespace exa::cli
