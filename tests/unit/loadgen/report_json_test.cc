#include "loadgen/report_json.h"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include "report_support.h"

using namespace exa;
using namespace exa::loadgen;
using namespace std::chrono_literals;

namespace {

boost::json::value parsed(const Report& report) {
    return boost::json::parse(report_json(report));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(report_json_)

BOOST_AUTO_TEST_CASE(it_has_counts_rates_percentiles_and_the_verdict) {
    const auto report = parsed(sample_report());
    BOOST_TEST(report.at("name") == "a <b> & \"c\"");
    BOOST_TEST(report.at("config").at("model") == "m");
    BOOST_TEST(report.at("counts").at("requests") == 4);
    BOOST_TEST(report.at("counts").at("succeeded") == 3);
    BOOST_TEST(report.at("rates").at("requests_per_s").as_double() == 0.3);
    const auto& ttft = report.at("percentiles").at("ttft_ms");
    BOOST_TEST(ttft.at("max").as_double() == 5000);
    BOOST_TEST(ttft.at("p50").as_double() == 200, boost::test_tools::tolerance(0.001));
    for (const char* name : {"p50", "p90", "p95", "p99", "p99.9", "max"}) BOOST_TEST(ttft.as_object().contains(name));
    BOOST_TEST(report.at("slo").at("attained").as_double() == 0.5);
    BOOST_TEST(report.at("slo").at("holds") == false);
    BOOST_TEST(report.at("errors").at("status_503") == 1);
    BOOST_TEST(report.at("error_samples").at("status_503") == "busy <now>");
    BOOST_TEST(report.at("targets").as_array()[1].at("failed") == 1);
    BOOST_TEST(!report.as_object().contains("ramp"));
    BOOST_TEST(!report.as_object().contains("disturbances"));
}

BOOST_AUTO_TEST_CASE(a_ramp_tells_its_knee_and_its_steps) {
    Report report = sample_report();
    report.steps = {{10, {100, 100, 0}, 1, true}, {20, {100, 50, 10}, 0.45, false}};
    report.knee = 10;
    report.broken = 20;
    const auto ramp = parsed(report).at("ramp");
    BOOST_TEST(ramp.at("knee_requests_per_s").as_double() == 10);
    BOOST_TEST(ramp.at("broken_requests_per_s").as_double() == 20);
    BOOST_TEST(ramp.at("steps").as_array().size() == 2u);
    BOOST_TEST(ramp.at("steps").as_array()[1].at("overdue") == 10);
    report.knee.reset();
    BOOST_TEST(parsed(report).at("ramp").at("knee_requests_per_s").is_null());
}

BOOST_AUTO_TEST_CASE(a_disturbance_tells_what_followed_it) {
    Report report = sample_report();
    report.recorder.begin_phase(sample_start + 4s);
    Outcome late;
    late.intended = sample_start + 3s;
    late.done = sample_start + 6s;
    late.failure = Failure::reset;
    late.stall = 2s;
    report.recorder.finished(late);
    report.disturbances = {{sample_start + 4s, "kill it", 0}, {sample_start + 8s, "kill it", std::nullopt}};
    const auto disturbances = parsed(report).at("disturbances").as_array();
    BOOST_TEST(disturbances[0].at("failed") == 1);
    BOOST_TEST(disturbances[0].at("at_s").as_double() == 4);
    BOOST_TEST(disturbances[0].at("troubled_s").as_double() == 2);
    BOOST_TEST(disturbances[0].at("longest_gap_ms").as_double() == 2000);
    BOOST_TEST(disturbances[1].at("exit_code").is_null());
}

BOOST_AUTO_TEST_SUITE_END()
