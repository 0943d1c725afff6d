#include "loadgen/report.h"

#include <boost/test/unit_test.hpp>

#include "report_support.h"

using namespace exa::loadgen;

BOOST_AUTO_TEST_SUITE(report)

BOOST_AUTO_TEST_CASE(rates_are_of_the_measured_time) {
    const Summary summary = summarize(sample_report());
    BOOST_TEST(summary.measured_s == 10);
    BOOST_TEST(summary.requests_per_s == 0.3);
    BOOST_TEST(summary.goodput_per_s == 0.2);
    BOOST_TEST(summary.output_tokens_per_s == 3);
}

BOOST_AUTO_TEST_CASE(attainment_counts_failures_against_the_objective) {
    Report sample = sample_report();
    BOOST_TEST(summarize(sample).attained == 0.5);
    BOOST_TEST(!summarize(sample).holds);
    sample.config.slo.share = 0.5;
    BOOST_TEST(summarize(sample).holds);
}

BOOST_AUTO_TEST_CASE(a_run_in_which_nothing_ended_has_no_rates_and_holds_nothing) {
    Report empty = sample_report();
    empty.recorder = Recorder(Slo{}, sample_start, sample_start, 2);
    const Summary summary = summarize(empty);
    BOOST_TEST(summary.requests_per_s == 0);
    BOOST_TEST(summary.attained == 0);
    BOOST_TEST(!summary.holds);
}

BOOST_AUTO_TEST_SUITE_END()
