#include "loadgen/plot.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>
#include <limits>

using namespace exa::loadgen;

namespace {

std::size_t count(std::string_view text, std::string_view part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

Plot plot_of(std::vector<Point> points) {
    Plot plot;
    plot.title = "t";
    plot.series = {{"one", std::move(points)}};
    return plot;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(plot_)

BOOST_AUTO_TEST_CASE(a_line_goes_through_its_points_from_left_to_right_and_upwards) {
    const std::string svg = to_svg(plot_of({{0, 0}, {10, 100}}));
    BOOST_TEST(svg.starts_with("<svg "));
    BOOST_TEST(svg.ends_with("</svg>"));
    BOOST_TEST(count(svg, "<path") == 1u);
    BOOST_TEST(svg.find("d=\"M64.0 238.0L844.0 43.7\"") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_point_that_is_not_a_number_breaks_the_line) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::string svg = to_svg(plot_of({{0, 1}, {1, 2}, {2, nan}, {3, 1}, {4, 2}}));
    const auto path = svg.substr(svg.find(" d=\""));
    BOOST_TEST(count(path.substr(0, path.find("/>")), "M") == 2u);
    BOOST_TEST(count(svg, "nan") == 0u);
}

BOOST_AUTO_TEST_CASE(a_logarithmic_axis_leaves_zeros_out) {
    Plot plot = plot_of({{0, 5}, {1, 0}, {10, 1}, {100, 1000}});
    plot.log_x = true;
    plot.log_y = true;
    const std::string svg = to_svg(plot);
    BOOST_TEST(count(svg, "<circle") == 2u);
    BOOST_TEST(count(svg, "inf") == 0u);
}

BOOST_AUTO_TEST_CASE(nothing_to_draw_says_so) {
    BOOST_TEST(to_svg(Plot{}).find("no data") != std::string::npos);
    BOOST_TEST(to_svg(plot_of({})).find("no data") != std::string::npos);
    BOOST_TEST(to_svg(plot_of({{1, std::numeric_limits<double>::infinity()}})).find("no data") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(one_point_and_equal_points_have_a_place) {
    for (const auto& points : {std::vector<Point>{{3, 7}}, std::vector<Point>{{3, 0}, {3, 0}}}) {
        const std::string svg = to_svg(plot_of(points));
        BOOST_TEST(count(svg, "nan") == 0u);
        BOOST_TEST(count(svg, "inf") == 0u);
        BOOST_TEST(count(svg, "<circle") == points.size());
    }
}

BOOST_AUTO_TEST_CASE(markers_outside_are_not_drawn) {
    Plot plot = plot_of({{0, 1}, {10, 1}});
    plot.markers = {5, 11, -1};
    BOOST_TEST(count(to_svg(plot), "class=\"marker\"") == 1u);
}

BOOST_AUTO_TEST_CASE(each_bar_but_the_closing_point_is_a_rectangle) {
    Plot plot = plot_of({{1, 5}, {2, 0}, {4, 3}, {8, 0}});
    plot.bars = true;
    BOOST_TEST(count(to_svg(plot), "<rect class=\"bar") == 3u);
}

BOOST_AUTO_TEST_CASE(ticks_are_round_and_within_the_range) {
    BOOST_TEST(nice_ticks(0, 10, 5, false) == (std::vector<double>{0, 2, 4, 6, 8, 10}));
    BOOST_TEST(nice_ticks(0.5, 1000, 5, true) == (std::vector<double>{1, 10, 100, 1000}));
    for (const double high : {1e-6, 3.7, 12345.0, 8e9}) {
        const auto ticks = nice_ticks(0, high, 6, false);
        BOOST_TEST(ticks.size() >= 3u);
        BOOST_TEST(ticks.size() <= 8u);
        BOOST_TEST(ticks.back() <= high * 1.0001);
    }
    BOOST_TEST(nice_ticks(5, 5, 5, false).empty());
}

BOOST_AUTO_TEST_SUITE_END()
