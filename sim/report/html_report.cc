#include "sim/report/html_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/html.h"
#include "membership/event.h"

namespace exa::sim {

namespace {

constexpr double width = 1000;
constexpr double margin = 90;
constexpr std::size_t told_max = 20'000;

// Places times and hosts on a drawing of its own height.
class Drawing {
  public:
    Drawing(double end_s, double height) : end_s_(std::max(end_s, 1e-3)), height_(height) {}

    double x(double at_s) const { return margin + (width - margin) * std::min(at_s, end_s_) / end_s_; }
    void box(double from_s, double to_s, double y, double high, std::string_view color, std::string_view title) {
        body_ += fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"><title>{}</title></rect>\n",
            x(from_s), y, std::max(1.0, x(to_s) - x(from_s)), high, color, html_escaped(title));
    }
    void label(double y, std::string_view text) {
        body_ += fmt::format("<text x=\"0\" y=\"{:.1f}\">{}</text>\n", y, html_escaped(text));
    }
    // `unit`: of the values, which begin at 0.
    void line(const std::vector<std::pair<double, double>>& points, std::string_view color, std::string_view unit) {
        double most = 1e-9;
        for (const auto& [at, value] : points) most = std::max(most, value);
        body_ += fmt::format("<polyline fill=\"none\" stroke=\"{}\" points=\"", color);
        for (const auto& [at, value] : points)
            body_ += fmt::format("{:.1f},{:.1f} ", x(at), height_ - 2 - (height_ - 14) * value / most);
        body_ += "\"/>\n";
        label(12, most < 1000 ? fmt::format("{:.3g} {}", most, unit) : fmt::format("{:.0f} {}", most, unit));
        label(height_ - 2, fmt::format("0 {}", unit));
    }
    std::string finish() const {
        std::string axis;
        // So many that no two of the ten are the same.
        const int digits = end_s_ >= 10 ? 0 : end_s_ >= 1 ? 1 : end_s_ >= 0.1 ? 2 : 3;
        for (int i = 0; i <= 10; ++i) {
            const double at = end_s_ * i / 10;
            axis += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:.{}f} s</text>\n", x(at),
                                height_ + 14, at, digits);
        }
        return fmt::format("<svg viewBox=\"0 0 {} {}\" width=\"100%\">\n{}{}</svg>\n", width + 20, height_ + 20, body_,
                           axis);
    }

  private:
    double end_s_;
    double height_;
    std::string body_;
};

std::string section(std::string_view title, std::string_view note, const std::string& body) {
    return fmt::format("<h2>{}</h2><p>{}</p>\n{}", title, note, body);
}

std::string faults(const Scenario& scenario, double end_s) {
    Drawing drawing(end_s, 18.0 * static_cast<double>(std::max<std::size_t>(1, scenario.plan.size())));
    for (std::size_t entry = 0; entry < scenario.plan.size(); ++entry) {
        const Fault& fault = scenario.plan[entry];
        const double y = 18.0 * static_cast<double>(entry);
        drawing.label(y + 13, fmt::format("{} {}", entry, to_string(fault.kind)));
        for (std::uint32_t time = 0; time < fault.times; ++time) {
            const double from = seconds_of(fault.at + fault.every * time);
            // In the liveness phase no fault begins or ends: what is broken then stays broken.
            const double planned_s = seconds_of(scenario.duration);
            if (from >= planned_s) break;
            const bool ends = fault.lasts > Duration{0} && from + seconds_of(fault.lasts) < planned_s;
            const double to = ends ? from + seconds_of(fault.lasts) : end_s;
            drawing.box(from, to, y + 3, 12, "#c0562f80",
                        fmt::format("{} from {:.1f} s to {:.1f} s", to_string(fault.kind), from, to));
        }
    }
    return drawing.finish();
}

std::string_view color_of(std::uint64_t told) {
    switch (static_cast<membership::EventKind>(told)) {
        case membership::EventKind::dead:
            return "#a01020";
        case membership::EventKind::suspect:
            return "#e0a020";
        default:
            return "#208040";
    }
}

std::string knowledge(const Timeline& timeline, std::size_t hosts, double end_s, double row) {
    Drawing drawing(end_s, row * static_cast<double>(hosts));
    drawing.label(10, "peer 0");
    drawing.label(row * static_cast<double>(hosts), fmt::format("peer {}", hosts - 1));
    for (const Timeline::Sample& sample : timeline.samples())
        for (std::size_t host = 0; host < hosts; ++host)
            if (sample.up[host] == 0)
                drawing.box(sample.at_s - 1, sample.at_s, row * static_cast<double>(host), row, "#d0d0d0",
                            fmt::format("peer {} is down", host));
    for (const TraceEntry& entry : timeline.told()) {
        const double at = seconds_of(entry.at);
        drawing.box(
            at, at, row * static_cast<double>(entry.host), row, color_of(entry.arg),
            fmt::format("{:.3f} s: peer {} hears of peer {}, event {}", at, entry.host, entry.from, entry.number));
    }
    return drawing.finish();
}

std::string heat(const Timeline& timeline, std::size_t hosts, double end_s, double row, bool load) {
    std::uint16_t most = 1;
    for (const Timeline::Sample& sample : timeline.samples())
        for (const std::uint16_t value : load ? sample.in_flight : sample.ready) most = std::max(most, value);
    Drawing drawing(end_s, row * static_cast<double>(hosts));
    drawing.label(10, "peer 0");
    drawing.label(row * static_cast<double>(hosts), fmt::format("peer {}", hosts - 1));
    for (const Timeline::Sample& sample : timeline.samples()) {
        const std::vector<std::uint16_t>& values = load ? sample.in_flight : sample.ready;
        for (std::size_t host = 0; host < hosts; ++host)
            if (values[host] > 0)
                drawing.box(sample.at_s - 1, sample.at_s, row * static_cast<double>(host), row,
                            fmt::format("rgba(20,60,140,{:.2f})", static_cast<double>(values[host]) / most),
                            fmt::format("{:.0f} s: peer {} has {}", sample.at_s, host, values[host]));
    }
    return drawing.finish();
}

std::string traffic(const Timeline& timeline, std::size_t hosts, double end_s) {
    std::vector<std::pair<double, double>> points;
    std::uint64_t before = 0;
    for (const Timeline::Sample& sample : timeline.samples()) {
        points.emplace_back(sample.at_s,
                            static_cast<double>(sample.datagram_bytes - before) / static_cast<double>(hosts));
        before = sample.datagram_bytes;
    }
    Drawing drawing(end_s, 120);
    drawing.line(points, "#143c8c", "B/s");
    return drawing.finish();
}

std::string distribution(const std::vector<double>& values) {
    std::vector<double> sorted = values;
    std::ranges::sort(sorted);
    std::vector<std::pair<double, double>> points;
    const std::size_t step = std::max<std::size_t>(1, sorted.size() / 300);
    for (std::size_t i = 0; i < sorted.size(); i += step)
        points.emplace_back(sorted[i], static_cast<double>(i + 1) / static_cast<double>(sorted.size()));
    Drawing drawing(sorted.empty() ? 1 : sorted.back(), 120);
    drawing.line(points, "#a01020", "of all");
    return drawing.finish();
}

}  // namespace

bool Timeline::note(const TraceEntry& entry) {
    if (entry.kind != EventKind::told || told_.size() >= told_max) return true;
    const auto told = static_cast<membership::EventKind>(entry.arg);
    if (told == membership::EventKind::suspect || told == membership::EventKind::dead ||
        told == membership::EventKind::alive)
        told_.push_back(entry);
    return true;
}

void Timeline::look(const Cluster& cluster) {
    Sample sample;
    sample.at_s = seconds_of(cluster.now());
    sample.datagram_bytes = cluster.network().datagram_bytes();
    for (Host host = 0; host < cluster.size(); ++host) {
        const Peer& peer = cluster.peer(host);
        std::uint16_t in_flight = 0;
        std::uint16_t ready = 0;
        for (const Replica& replica : peer.replicas) {
            in_flight = static_cast<std::uint16_t>(in_flight + replica.in_flight());
            ready = static_cast<std::uint16_t>(ready + (replica.record().state == wire::ReplicaState::ready ? 1 : 0));
        }
        sample.in_flight.push_back(in_flight);
        sample.ready.push_back(ready);
        sample.up.push_back(peer.is_up() ? 1 : 0);
    }
    samples_.push_back(std::move(sample));
}

std::string to_html(const RunIdentity& identity, const Scenario& scenario, const Outcome& outcome,
                    const Timeline& timeline, const RunTime& time) {
    const std::size_t hosts = scenario.cluster.peers;
    const double end_s = seconds_of(outcome.virtual_time);
    const double row = std::clamp(480.0 / static_cast<double>(hosts), 2.0, 16.0);
    const bool load = outcome.traffic.requests > 0;
    std::string html = fmt::format(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>exasim {0} seed {1}</title><style>"
        "body{{font:14px sans-serif;margin:2em;max-width:1100px}}svg{{background:#fafafa;border:1px solid #ddd}}"
        "text{{font:10px sans-serif}}pre{{background:#f4f4f4;padding:1em;overflow:auto}}</style></head><body>\n"
        "<h1>{0}, seed {1}</h1><p>{2}</p><pre>{3}</pre>\n",
        html_escaped(identity.scenario), identity.seed, html_escaped(scenario.about),
        html_escaped(to_text(identity, outcome, time)));
    html += section("Faults", "The plan: what was done and when.", faults(scenario, end_s));
    html +=
        section("Who knew what when",
                "A row a peer. Grey: it is down. Yellow: it suspects another, red: it calls another dead, green: it "
                "takes it back. Point at a mark for whom.",
                knowledge(timeline, hosts, end_s, row));
    html += section(load ? "Load of the replicas" : "Replicas ready",
                    load ? "Requests in flight at each peer's replicas." : "Ready replicas of each peer.",
                    heat(timeline, hosts, end_s, row, load));
    html += section("Gossip", "Bytes a second of each peer's datagrams.", traffic(timeline, hosts, end_s));
    if (!outcome.measured.detect_all.empty())
        html +=
            section("Crash known to all", "Part of the crashes by seconds.", distribution(outcome.measured.detect_all));
    if (!outcome.traffic.first_token_s.empty())
        html += section("First token", "Part of the requests by seconds.", distribution(outcome.traffic.first_token_s));
    return html + "</body></html>\n";
}

}  // namespace exa::sim
