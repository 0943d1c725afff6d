#include "loadgen/distribution.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <vector>

#include "loadgen/errc.h"
#include "support/print.h"

using namespace exa;
using namespace exa::loadgen;

namespace {

std::vector<double> sorted_draws(std::string_view text) {
    const auto distribution = Distribution::parse(text);
    BOOST_TEST_REQUIRE(distribution.has_value());
    Rng rng(11);
    std::vector<double> draws;
    for (int i = 0; i < 20'000; ++i) draws.push_back(distribution.value().draw(rng));
    std::ranges::sort(draws);
    return draws;
}

double mean_of(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(distribution)

BOOST_AUTO_TEST_CASE(draws_have_the_middle_and_the_spread_that_were_asked_for) {
    const auto near = [](double a, double b) { return std::abs(a - b) <= 0.03 * b; };
    BOOST_TEST(near(mean_of(sorted_draws("uniform:100:300")), 200));
    BOOST_TEST(near(mean_of(sorted_draws("normal:100:10")), 100));
    const auto normal = sorted_draws("normal:100:10");
    BOOST_TEST(near(normal[normal.size() * 84 / 100], 110));
    BOOST_TEST(near(mean_of(sorted_draws("exponential:50")), 50));
    const auto lognormal = sorted_draws("lognormal:80:1");
    BOOST_TEST(near(lognormal[lognormal.size() / 2], 80));
    BOOST_TEST(near(lognormal[lognormal.size() * 84 / 100], 80 * 2.718));
}

BOOST_AUTO_TEST_CASE(draws_stay_within_their_bounds) {
    const auto uniform = sorted_draws("uniform:5:6");
    BOOST_TEST(uniform.front() >= 5);
    BOOST_TEST(uniform.back() <= 6);
    BOOST_TEST(sorted_draws("normal:1:100").front() >= 0);
    BOOST_TEST(sorted_draws("lognormal:10:5").back() <= 1000);
    Rng rng(1);
    BOOST_TEST(Distribution(0).draw_count(rng, 1) == 1u);
    BOOST_TEST(Distribution(2.6).draw_count(rng, 1) == 3u);
}

BOOST_AUTO_TEST_CASE(equal_seeds_draw_equal_values) {
    const auto distribution = Distribution::parse("lognormal:100:0.5").value();
    Rng a(5);
    Rng b(5);
    for (int i = 0; i < 10; ++i) BOOST_TEST(distribution.draw(a) == distribution.draw(b));
}

BOOST_AUTO_TEST_CASE(what_is_written_reads_the_same) {
    for (const char* text : {"128", "0.5", "uniform:10:200", "normal:100:20", "lognormal:64:0.8", "exponential:3"})
        BOOST_TEST(Distribution::parse(text).value().to_string() == text);
}

BOOST_AUTO_TEST_CASE(nonsense_is_refused_with_the_text_in_the_message) {
    for (const char* text : {"", "x", "-1", "nan", "inf", "1e10", "uniform:5", "uniform:6:5", "normal:1:2:3", "zipf:1",
                             "normal::", "exponential:", "1 2", "uniform:1:-2"}) {
        const auto parsed = Distribution::parse(text);
        BOOST_TEST_REQUIRE(!parsed.has_value());
        BOOST_TEST(parsed.error().code == errc::bad_distribution);
        BOOST_TEST(parsed.error().detail.find("'" + std::string(text) + "'") == 0u);
    }
}

BOOST_AUTO_TEST_SUITE_END()
