#include "exaserve/bench_text.h"

#include <boost/test/unit_test.hpp>

#include "../loadgen/report_support.h"

using namespace exa::cli;
using namespace std::chrono_literals;

namespace {

bool holds(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(bench_text_)

BOOST_AUTO_TEST_CASE(latencies_and_rates_show_three_digits_that_count) {
    BOOST_TEST(human_latency(0) == "0 us");
    BOOST_TEST(human_latency(999) == "999 us");
    BOOST_TEST(human_latency(1'234) == "1.23 ms");
    BOOST_TEST(human_latency(45'678) == "45.7 ms");
    BOOST_TEST(human_latency(345'678) == "346 ms");
    BOOST_TEST(human_latency(7'890'000) == "7.89 s");
    BOOST_TEST(human_rate(0.123) == "0.12");
    BOOST_TEST(human_rate(4'210.4) == "4210");
}

BOOST_AUTO_TEST_CASE(a_report_names_requests_latencies_the_verdict_failures_and_targets) {
    const std::string text = bench_text(exa::loadgen::sample_report(), Style::plain);
    BOOST_TEST(holds(text, "requests   4 (3 succeeded, 1 failed)"));
    BOOST_TEST(holds(text, "50.00 % of requests"));
    BOOST_TEST(holds(text, "does not hold (99.00 % wanted)"));
    BOOST_TEST(holds(text, "first token (TTFT)"));
    BOOST_TEST(!holds(text, "between tokens"));
    BOOST_TEST(holds(text, "status_503"));
    BOOST_TEST(holds(text, "busy <now>"));
    BOOST_TEST(holds(text, "http://two:8000"));
    BOOST_TEST(!holds(text, "\x1b"));
}

BOOST_AUTO_TEST_CASE(a_ramp_says_where_its_knee_is) {
    auto report = exa::loadgen::sample_report();
    report.steps = {{10, {100, 100, 0}, 1, true}, {20, {100, 50, 10}, 0.45, false}};
    report.knee = 10;
    report.broken = 20;
    BOOST_TEST(holds(bench_text(report, Style::plain), "knee: 10.0 requests/s held, 20.0 did not"));
    report.knee.reset();
    BOOST_TEST(holds(bench_text(report, Style::plain), "knee: no rate held"));
}

BOOST_AUTO_TEST_CASE(a_disturbance_has_a_row_even_when_nothing_followed_it) {
    auto report = exa::loadgen::sample_report();
    report.recorder.begin_phase(exa::loadgen::sample_start + 4s);
    report.disturbances = {{exa::loadgen::sample_start + 4s, "x", 3}, {exa::loadgen::sample_start + 5s, "x", {}}};
    const std::string text = bench_text(report, Style::plain);
    BOOST_TEST(holds(text, "4.0 s"));
    BOOST_TEST(holds(text, "5.0 s"));
}

BOOST_AUTO_TEST_SUITE_END()
