#include "loadgen/report_html.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>

#include "base/html.h"
#include "loadgen/plot.h"
#include "loadgen/report_json.h"

namespace exa::loadgen {

namespace {

constexpr std::string_view style = R"(<style>
:root{color-scheme:light dark;--ink:#1c2330;--soft:#667085;--paper:#fff;--line:#d8dde6;--card:#f5f7fa;
--c0:#2563eb;--c1:#dc2626;--c2:#059669;--c3:#d97706;--c4:#7c3aed;--c5:#0891b2}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ef;--soft:#98a2b3;--paper:#12161d;--line:#2b3442;--card:#1a202a;
--c0:#60a5fa;--c1:#f87171;--c2:#34d399;--c3:#fbbf24;--c4:#a78bfa;--c5:#22d3ee}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:0 auto;max-width:960px;padding:24px}
h1{font-size:24px;margin:0}h2{font-size:17px;margin:32px 0 8px}p{color:var(--soft);margin:4px 0 16px}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:20px 0}
.card{background:var(--card);border-radius:8px;padding:12px 14px}.card b{display:block;font-size:22px;font-weight:600}
.card span{color:var(--soft);font-size:13px}.good b{color:var(--c2)}.bad b{color:var(--c1)}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}th,td{padding:5px 10px;text-align:right;
border-bottom:1px solid var(--line)}th{color:var(--soft);font-weight:500}th:first-child,td:first-child{text-align:left}
svg{width:100%;height:auto;display:block}.axis{stroke:var(--soft)}.grid{stroke:var(--line)}
.label{fill:var(--soft);font-size:12px}.marker{stroke:var(--c1);stroke-dasharray:4 3}.shade{fill:var(--line);opacity:.4}
.line{fill:none;stroke-width:1.8}.s0{stroke:var(--c0)}.s1{stroke:var(--c1)}.s2{stroke:var(--c2)}.s3{stroke:var(--c3)}
.s4{stroke:var(--c4)}.s5{stroke:var(--c5)}.dot{fill:var(--paper);opacity:0}.dot:hover{opacity:1}.bar{stroke:none}
.bar.s0{fill:var(--c0)}.bar.s1{fill:var(--c1)}.bar.s2{fill:var(--c2)}.bar.s3{fill:var(--c3)}.bar.s4{fill:var(--c4)}
.bar.s5{fill:var(--c5)}pre{background:var(--card);padding:12px;border-radius:8px;overflow:auto;font-size:12px}
</style>)";

std::string number(double value, int decimals) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*f", decimals, value);
    return text;
}

std::string shown(double value) {
    return number(value, value < 10 ? 2 : value < 100 ? 1 : 0);
}

std::string shown_ms(double ms) {
    return ms < 1000 ? shown(ms) + " ms" : shown(ms / 1e3) + " s";
}

std::string card(std::string_view value, std::string_view name, std::string_view css = {}) {
    return "<div class=\"card " + std::string(css) + "\"><b>" + html_escaped(value) + "</b><span>" +
           html_escaped(name) + "</span></div>";
}

std::string row(const std::vector<std::string>& cells, std::string_view tag = "td") {
    std::string out = "<tr>";
    for (const std::string& cell : cells)
        out += "<" + std::string(tag) + ">" + html_escaped(cell) + "</" + std::string(tag) + ">";
    return out + "</tr>";
}

std::string section(const Plot& plot, std::string_view note = {}) {
    return "<h2>" + html_escaped(plot.title) + "</h2>" +
           (note.empty() ? std::string() : "<p>" + html_escaped(note) + "</p>") + to_svg(plot);
}

// A value of every window of the timeline, at its middle.
Series over_time(const Report& report, std::string name, const std::function<double(const Window&)>& value) {
    const Timeline& timeline = report.recorder.timeline();
    Series series{std::move(name), {}};
    const double width = to_seconds(timeline.width());
    for (std::size_t i = 0; i < timeline.windows().size(); ++i)
        series.points.push_back({(static_cast<double>(i) + 0.5) * width, value(timeline.windows()[i])});
    return series;
}

double percentile_ms(const Histogram& histogram, double share) {
    return histogram.count() == 0 ? std::numeric_limits<double>::quiet_NaN() : to_ms(histogram.percentile(share));
}

Plot time_plot(const Report& report, std::string title, std::string y_label) {
    Plot plot;
    plot.title = std::move(title);
    plot.x_label = "seconds";
    plot.y_label = std::move(y_label);
    plot.shade = {0, to_seconds(report.config.warmup)};
    for (const Disturbance& disturbance : report.disturbances)
        plot.markers.push_back(to_seconds(disturbance.at - report.start));
    return plot;
}

std::string latency_plots(const Report& report) {
    Plot first = time_plot(report, "Time to first token, by when the answer ended", "ms");
    first.series = {over_time(report, "p50", [](const Window& w) { return percentile_ms(w.ttft_us, 0.5); }),
                    over_time(report, "p99", [](const Window& w) { return percentile_ms(w.ttft_us, 0.99); })};
    Plot between = time_plot(report, "Time between tokens", "ms");
    between.series = {over_time(report, "p50", [](const Window& w) { return percentile_ms(w.tbt_us, 0.5); }),
                      over_time(report, "p99", [](const Window& w) { return percentile_ms(w.tbt_us, 0.99); })};
    Plot whole = time_plot(report, "Whole answer, by when it ended", "ms");
    whole.series = {over_time(report, "p50", [](const Window& w) { return percentile_ms(w.e2e_us, 0.5); }),
                    over_time(report, "p99", [](const Window& w) { return percentile_ms(w.e2e_us, 0.99); })};
    std::string out = section(first, "The warm-up is shaded; dashed lines are disturbances.");
    if (report.recorder.tbt_us().count() > 0) out += section(between);
    return out + section(whole);
}

std::string throughput_plots(const Report& report) {
    const double width = to_seconds(report.recorder.timeline().width());
    const auto rate = [width](std::uint64_t count) { return static_cast<double>(count) / width; };
    Plot requests = time_plot(report, "Requests", "requests/s");
    requests.series = {over_time(report, "due", [&](const Window& w) { return rate(w.started); }),
                       over_time(report, "failed", [&](const Window& w) { return rate(w.failed); }),
                       over_time(report, "succeeded", [&](const Window& w) { return rate(w.succeeded); }),
                       over_time(report, "within the objective", [&](const Window& w) { return rate(w.met); })};
    Plot tokens = time_plot(report, "Events with text", "events/s");
    tokens.series = {over_time(report, "events", [&](const Window& w) { return rate(w.tokens); })};
    std::string out = section(requests);
    if (report.config.stream) out += section(tokens);
    return out;
}

// Tokens that arrive together are 0 apart, for which a logarithmic axis has no place.
constexpr double tail_ms_min = 0.01;

// Latency over "one request in ...", so that the far end of the tail has room.
Series tail_of(std::string name, const Histogram& histogram) {
    Series series{std::move(name), {}};
    if (histogram.count() == 0) return series;
    const auto count = static_cast<double>(histogram.count());
    for (double one_in = 1; one_in <= count * 1.2; one_in *= 1.2)
        series.points.push_back({one_in, std::max(to_ms(histogram.percentile(1 - 1 / one_in)), tail_ms_min)});
    return series;
}

std::string tail_plot(const Report& report) {
    Plot plot;
    plot.title = "Percentiles";
    plot.x_label = "percentile";
    plot.y_label = "ms";
    plot.log_x = true;
    plot.log_y = true;
    plot.x_ticks = {{1, "0"},       {2, "50"},        {10, "90"},         {100, "99"},
                    {1000, "99.9"}, {10000, "99.99"}, {100000, "99.999"}, {1000000, "99.9999"}};
    plot.series = {tail_of("TTFT", report.recorder.ttft_us()), tail_of("TBT", report.recorder.tbt_us()),
                   tail_of("E2E", report.recorder.e2e_us())};
    return section(plot);
}

// Eight bars a doubling would be noise; four show the shape.
std::string histogram_plot(std::string title, const Histogram& histogram) {
    if (histogram.count() == 0) return {};
    Histogram coarse(3);
    for (const auto& bucket : histogram.buckets())
        coarse.add(bucket.high, static_cast<std::uint32_t>(std::min<std::uint64_t>(bucket.count, ~std::uint32_t{0})));
    Plot plot;
    plot.title = std::move(title);
    plot.x_label = "ms";
    plot.y_label = "requests";
    plot.bars = true;
    plot.log_x = true;
    plot.series.resize(1);
    std::uint64_t expected_low = 0;
    for (const auto& bucket : coarse.buckets()) {
        // Empty buckets between those with counts are a bar of height 0.
        if (!plot.series[0].points.empty() && bucket.low != expected_low)
            plot.series[0].points.push_back({to_ms(expected_low), 0});
        plot.series[0].points.push_back({to_ms(std::max<std::uint64_t>(bucket.low, 1)), double(bucket.count)});
        expected_low = bucket.high + 1;
    }
    plot.series[0].points.push_back({to_ms(expected_low), 0});
    return section(plot);
}

std::string ramp_section(const Report& report) {
    if (report.steps.empty()) return {};
    Plot plot;
    plot.title = "Ramp: requests that met the objective";
    plot.x_label = "requests/s";
    plot.y_label = "%";
    plot.series = {{"attained", {}}, {"wanted", {}}};
    std::vector<Step> steps = report.steps;
    std::ranges::sort(steps, {}, &Step::rate);
    for (const Step& step : steps) {
        plot.series[0].points.push_back({step.rate, step.attained * 100});
        plot.series[1].points.push_back({step.rate, report.config.slo.share * 100});
    }
    if (report.knee) plot.markers.push_back(*report.knee);
    const std::string note =
        report.knee ? "The knee (dashed) is at " + shown(*report.knee) + " requests/s." : std::string("No rate held.");
    return section(plot, note);
}

std::string percentile_table(const Report& report) {
    std::vector<std::string> head = {"latency"};
    for (const Percentile& percentile : percentiles) head.emplace_back(percentile.name);
    head.insert(head.end(), {"max", "mean", "count"});
    std::string out = "<h2>Latency</h2><table>" + row(head, "th");
    const auto add = [&](const char* name, const Histogram& histogram) {
        if (histogram.count() == 0) return;
        std::vector<std::string> cells = {name};
        for (const Percentile& percentile : percentiles)
            cells.push_back(shown_ms(to_ms(histogram.percentile(percentile.share))));
        cells.push_back(shown_ms(to_ms(histogram.max())));
        cells.push_back(shown_ms(histogram.mean() / 1e3));
        cells.push_back(std::to_string(histogram.count()));
        out += row(cells);
    };
    add("first token (TTFT)", report.recorder.ttft_us());
    add("between tokens (TBT)", report.recorder.tbt_us());
    add("whole answer (E2E)", report.recorder.e2e_us());
    return out + "</table>";
}

std::string failure_table(const Report& report) {
    const Recorder& recorder = report.recorder;
    if (recorder.due().failed == 0) return {};
    std::string out = "<h2>Failures</h2><table>" + row({"kind", "count", "first message"}, "th");
    const auto add = [&](const std::string& key, std::uint64_t count) {
        const auto sample = recorder.samples().find(key);
        out += row({key, std::to_string(count), sample == recorder.samples().end() ? "" : sample->second});
    };
    for (const auto& [status, count] : recorder.statuses()) add("status_" + std::to_string(status), count);
    for (std::size_t kind = 0; kind < failure_kinds; ++kind) {
        const auto failure = static_cast<Failure>(kind);
        if (failure != Failure::status && recorder.failures()[kind] > 0)
            add(std::string(to_string(failure)), recorder.failures()[kind]);
    }
    return out + "</table>";
}

std::string disturbance_table(const Report& report) {
    if (report.disturbances.empty()) return {};
    std::string out = "<h2>Disturbances</h2><table>" +
                      row({"at", "exit code", "failed", "missed", "longest gap", "troubled for"}, "th");
    for (std::size_t i = 0; i < std::min(report.disturbances.size(), report.recorder.phases().size()); ++i) {
        const Disturbance& disturbance = report.disturbances[i];
        const Phase& phase = report.recorder.phases()[i];
        out +=
            row({shown(to_seconds(disturbance.at - report.start)) + " s",
                 disturbance.exit_code ? std::to_string(*disturbance.exit_code) : "-",
                 std::to_string(phase.requests.failed), std::to_string(phase.requests.finished() - phase.requests.met),
                 shown_ms(to_seconds(phase.stall_max) * 1e3),
                 shown(to_seconds(phase.troubled_until - phase.start)) + " s"});
    }
    return out + "</table>";
}

std::string headline(const Report& report, const Summary& summary) {
    const Recorder& recorder = report.recorder;
    const Slo& slo = report.config.slo;
    std::string targets;
    for (const std::string& target : report.targets) targets += (targets.empty() ? "" : ", ") + target;
    std::string out = "<h1>" + html_escaped(report.name) + "</h1><p>" + html_escaped(report.preset) + " load of " +
                      html_escaped(report.config.model) + " at " + html_escaped(targets) + ", " +
                      shown(summary.measured_s) + " s measured" + (report.interrupted ? " (interrupted)" : "") +
                      "</p><div class=\"cards\">";
    out += card(shown(summary.requests_per_s), "requests/s");
    out += card(shown(summary.goodput_per_s), "within the objective /s");
    out += card(shown(summary.output_tokens_per_s), "output tokens/s");
    out += card(std::to_string(recorder.due().failed), "of " + std::to_string(recorder.due().finished()) + " failed",
                recorder.due().failed > 0 ? "bad" : "");
    out += card(shown_ms(to_ms(recorder.ttft_us().percentile(0.99))), "p99 TTFT");
    out +=
        card(number(std::floor(summary.attained * 1e4) / 100, 2) + " %",
             "TTFT <= " + shown_ms(to_seconds(slo.ttft) * 1e3) + ", p99 TBT <= " + shown_ms(to_seconds(slo.tbt) * 1e3),
             summary.holds ? "good" : "bad");
    return out + "</div>";
}

}  // namespace

std::string report_html(const Report& report) {
    const Summary summary = summarize(report);
    std::string out =
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width,initial-scale=1\"><title>" +
        html_escaped(report.name) + " - exaserve bench</title>";
    out += style;
    out += "</head><body>";
    out += headline(report, summary);
    out += percentile_table(report);
    out += ramp_section(report);
    out += disturbance_table(report);
    out += latency_plots(report);
    out += throughput_plots(report);
    out += tail_plot(report);
    out += histogram_plot("Time to first token, how often", report.recorder.ttft_us());
    out += histogram_plot("Whole answer, how often", report.recorder.e2e_us());
    out += failure_table(report);
    out += "<h2>All numbers</h2><pre>" + html_escaped(report_json(report)) + "</pre></body></html>\n";
    return out;
}

}  // namespace exa::loadgen
