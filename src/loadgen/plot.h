// Plot: lines or bars over one axis as an SVG element, without a script and without a file beside it.
//
// Colours come from the page: series i has the class s<i>, and what is not data has the classes axis, grid, label,
// marker and shade.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace exa::loadgen {

struct Point {
    double x = 0;
    double y = 0;
};

struct Series {
    std::string name;
    std::vector<Point> points;  // by x; one that is not finite breaks the line
};

struct Tick {
    double at = 0;
    std::string label;
};

struct Plot {
    std::string title;
    std::string x_label;
    std::string y_label;
    bool log_x = false;  // points at 0 or below are left out
    bool log_y = false;
    bool bars = false;                  // of the first series, each as wide as the distance to the next
    std::vector<Series> series;         // at most six have a colour of their own
    std::vector<Tick> x_ticks;          // empty: round numbers
    std::vector<double> markers;        // vertical lines
    std::pair<double, double> shade{};  // a stretch of x to be told apart
};

// An <svg> element; "no data" in it when there is no point to draw.
std::string to_svg(const Plot& plot);

// Round numbers (1, 2 or 5 times a power of ten) from `low` to `high`, about `wanted` of them; every power of ten when
// `log`.
std::vector<double> nice_ticks(double low, double high, std::size_t wanted, bool log);

}  // namespace exa::loadgen
