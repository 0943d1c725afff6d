#include "loadgen/plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "base/html.h"

namespace exa::loadgen {

namespace {

// In the units of the viewBox; the page scales it.
constexpr double width = 860;
constexpr double height = 280;
constexpr double left = 64;
constexpr double right = 16;
constexpr double top = 34;
constexpr double bottom = 42;
constexpr std::size_t colours = 6;
// Above, a circle for every point would hide the line.
constexpr std::size_t dots_max = 300;

std::string num(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", value);
    return text;
}

std::string short_number(double value) {
    char text[32];
    if (std::abs(value) >= 1e6)
        std::snprintf(text, sizeof text, "%gM", value / 1e6);
    else if (std::abs(value) >= 1e4)
        std::snprintf(text, sizeof text, "%gk", value / 1e3);
    else
        std::snprintf(text, sizeof text, "%g", value);
    return text;
}

// From values to places.
class Axis {
  public:
    Axis(bool log, double from, double to) : log_(log), from_(from), to_(to) {}

    bool takes(double value) const { return std::isfinite(value) && (!log_ || value > 0); }
    void see(double value) {
        if (!takes(value)) return;
        low_ = std::min(low_, value);
        high_ = std::max(high_, value);
    }
    bool has_data() const { return low_ <= high_; }
    void start_at_zero() {
        if (!log_) low_ = std::min(low_, 0.0);
    }
    // Never of no width, and with room above.
    void close(bool room) {
        if (log_) {
            low_ = std::pow(10, std::floor(std::log10(low_)));
            high_ = std::max(high_ * 1.05, low_ * 10);
        } else if (high_ - low_ < 1e-12) {
            high_ = low_ + 1;
        } else if (room) {
            high_ += (high_ - low_) * 0.05;
        }
    }
    double place(double value) const {
        const double share = log_ ? (std::log10(value) - std::log10(low_)) / (std::log10(high_) - std::log10(low_))
                                  : (value - low_) / (high_ - low_);
        return from_ + share * (to_ - from_);
    }
    bool log() const { return log_; }
    double low() const { return low_; }
    double high() const { return high_; }

  private:
    bool log_;
    double from_;
    double to_;
    double low_ = std::numeric_limits<double>::infinity();
    double high_ = -std::numeric_limits<double>::infinity();
};

std::string line_at(std::string_view css, double x1, double y1, double x2, double y2) {
    return "<line class=\"" + std::string(css) + "\" x1=\"" + num(x1) + "\" y1=\"" + num(y1) + "\" x2=\"" + num(x2) +
           "\" y2=\"" + num(y2) + "\"/>";
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text, std::string_view css) {
    return "<text class=\"" + std::string(css) + "\" x=\"" + num(x) + "\" y=\"" + num(y) + "\" text-anchor=\"" +
           std::string(anchor) + "\">" + html_escaped(text) + "</text>";
}

std::string css_of(std::size_t series) {
    return "s" + std::to_string(series % colours);
}

std::string draw_line(const Series& series, std::size_t number, const Axis& x, const Axis& y) {
    std::string path;
    std::string dots;
    bool pen_down = false;
    for (const Point& point : series.points) {
        if (!x.takes(point.x) || !y.takes(point.y)) {
            pen_down = false;
            continue;
        }
        const std::string at = num(x.place(point.x)) + " " + num(y.place(point.y));
        path += (pen_down ? "L" : "M") + at;
        pen_down = true;
        if (series.points.size() <= dots_max)
            dots += "<circle class=\"dot " + css_of(number) + "\" cx=\"" + num(x.place(point.x)) + "\" cy=\"" +
                    num(y.place(point.y)) + "\" r=\"2\"><title>" + html_escaped(series.name) + ": " +
                    short_number(point.y) + " at " + short_number(point.x) + "</title></circle>";
    }
    return "<path class=\"line " + css_of(number) + "\" d=\"" + path + "\"/>" + dots;
}

std::string draw_bars(const Series& series, const Axis& x, const Axis& y) {
    std::string out;
    for (std::size_t i = 0; i < series.points.size(); ++i) {
        const Point& point = series.points[i];
        if (!x.takes(point.x) || !y.takes(point.y) || i + 1 == series.points.size()) continue;
        const double from = x.place(point.x);
        const double to = x.place(series.points[i + 1].x);
        out += "<rect class=\"bar s0\" x=\"" + num(from) + "\" y=\"" + num(y.place(point.y)) + "\" width=\"" +
               num(std::max(to - from - 0.5, 0.5)) + "\" height=\"" + num(height - bottom - y.place(point.y)) +
               "\"><title>" + short_number(point.x) + ": " + short_number(point.y) + "</title></rect>";
    }
    return out;
}

std::string draw_axes(const Plot& plot, const Axis& x, const Axis& y) {
    std::string out;
    for (const double tick : nice_ticks(y.low(), y.high(), 5, y.log())) {
        const double at = y.place(tick);
        out += line_at("grid", left, at, width - right, at);
        out += text_at(left - 6, at + 4, "end", short_number(tick), "label");
    }
    std::vector<Tick> ticks = plot.x_ticks;
    if (ticks.empty())
        for (const double tick : nice_ticks(x.low(), x.high(), 8, x.log())) ticks.push_back({tick, short_number(tick)});
    for (const Tick& tick : ticks) {
        if (tick.at < x.low() || tick.at > x.high()) continue;
        const double at = x.place(tick.at);
        out += line_at("grid", at, top, at, height - bottom);
        out += text_at(at, height - bottom + 15, "middle", tick.label, "label");
    }
    out += line_at("axis", left, height - bottom, width - right, height - bottom);
    out += line_at("axis", left, top, left, height - bottom);
    out += text_at((left + width - right) / 2, height - 8, "middle", plot.x_label, "label");
    return out + text_at(left, top - 8, "start", plot.y_label, "label");
}

std::string draw_legend(const Plot& plot) {
    std::string out;
    if (plot.bars) return out;
    double at = width - right;
    for (std::size_t i = plot.series.size(); i-- > 0;) {
        const std::string& name = plot.series[i].name;
        at -= 7 * static_cast<double>(name.size()) + 24;
        out += "<rect class=\"bar " + css_of(i) + "\" x=\"" + num(at) + "\" y=\"" + num(top - 16) +
               "\" width=\"10\" height=\"10\"/>" + text_at(at + 14, top - 7, "start", name, "label");
    }
    return out;
}

}  // namespace

std::vector<double> nice_ticks(double low, double high, std::size_t wanted, bool log) {
    std::vector<double> ticks;
    if (!(low < high) || wanted == 0) return ticks;
    if (log) {
        for (double tick = std::pow(10, std::ceil(std::log10(low) - 1e-9)); tick <= high; tick *= 10)
            ticks.push_back(tick);
        return ticks;
    }
    const double raw = (high - low) / static_cast<double>(wanted);
    const double power = std::pow(10, std::floor(std::log10(raw)));
    const double step = (raw / power <= 1 ? 1 : raw / power <= 2 ? 2 : raw / power <= 5 ? 5 : 10) * power;
    for (double tick = std::ceil(low / step - 1e-9) * step; tick <= high + step * 1e-9; tick += step)
        ticks.push_back(std::abs(tick) < step * 1e-9 ? 0 : tick);
    return ticks;
}

std::string to_svg(const Plot& plot) {
    Axis x(plot.log_x, left, width - right);
    Axis y(plot.log_y, height - bottom, top);
    for (const Series& series : plot.series) {
        for (const Point& point : series.points) {
            if (!x.takes(point.x) || !y.takes(point.y)) continue;
            x.see(point.x);
            y.see(point.y);
        }
    }
    std::string out = "<svg viewBox=\"0 0 " + num(width) + " " + num(height) + "\" role=\"img\" aria-label=\"" +
                      html_escaped(plot.title) + "\">";
    if (!x.has_data()) return out + text_at(width / 2, height / 2, "middle", "no data", "label") + "</svg>";
    y.start_at_zero();
    x.close(false);
    y.close(true);
    if (plot.shade.first < plot.shade.second) {
        const double from = x.place(std::max(plot.shade.first, x.low()));
        const double to = x.place(std::clamp(plot.shade.second, x.low(), x.high()));
        out += "<rect class=\"shade\" x=\"" + num(from) + "\" y=\"" + num(top) + "\" width=\"" +
               num(std::max(to - from, 0.0)) + "\" height=\"" + num(height - top - bottom) + "\"/>";
    }
    out += draw_axes(plot, x, y);
    for (const double marker : plot.markers) {
        if (!x.takes(marker) || marker < x.low() || marker > x.high()) continue;
        out += line_at("marker", x.place(marker), top, x.place(marker), height - bottom);
    }
    if (plot.bars) {
        if (!plot.series.empty()) out += draw_bars(plot.series.front(), x, y);
    } else {
        for (std::size_t i = 0; i < plot.series.size(); ++i) out += draw_line(plot.series[i], i, x, y);
    }
    return out + draw_legend(plot) + "</svg>";
}

}  // namespace exa::loadgen
