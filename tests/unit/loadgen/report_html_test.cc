#include "loadgen/report_html.h"

#include <algorithm>

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "report_support.h"

using namespace exa;
using namespace exa::loadgen;
using namespace std::chrono_literals;

namespace {

bool holds(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

// The name of the first element that is not closed where it should be; empty when all are.
std::string unbalanced(std::string_view html) {
    const std::vector<std::string> single = {"meta", "!doctype"};
    std::vector<std::string> open;
    for (auto at = html.find('<'); at != std::string_view::npos; at = html.find('<', at + 1)) {
        const auto end = html.find('>', at);
        if (end == std::string_view::npos) return "a tag without end";
        std::string_view tag = html.substr(at + 1, end - at - 1);
        const bool closes = tag.starts_with('/');
        if (closes) tag.remove_prefix(1);
        const std::string name(tag.substr(0, tag.find_first_of(" /")));
        if (tag.ends_with('/') || std::ranges::find(single, name) != single.end()) continue;
        if (!closes) {
            open.push_back(name);
        } else if (open.empty() || open.back() != name) {
            return name;
        } else {
            open.pop_back();
        }
    }
    return open.empty() ? "" : open.back();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(report_html_)

BOOST_AUTO_TEST_CASE(the_page_is_whole_and_needs_nothing_but_itself) {
    const std::string page = report_html(sample_report());
    BOOST_TEST(unbalanced(page) == "");
    for (const char* reference : {" src=", " href=", "url(", "@import", "<script", "<link"})
        BOOST_TEST(!holds(page, reference));
    BOOST_TEST(holds(page, "first token (TTFT)"));
    BOOST_TEST(holds(page, "50.00 %"));
    BOOST_TEST(holds(page, "Percentiles"));
}

BOOST_AUTO_TEST_CASE(names_and_messages_are_escaped) {
    const std::string page = report_html(sample_report());
    BOOST_TEST(holds(page, "a &lt;b&gt; &amp; &quot;c&quot;"));
    BOOST_TEST(holds(page, "busy &lt;now&gt;"));
    BOOST_TEST(!holds(page, "<b> &"));
    BOOST_TEST(!holds(page, "<now>"));
}

BOOST_AUTO_TEST_CASE(a_run_without_answers_still_makes_a_page) {
    Report report = sample_report();
    report.recorder = Recorder(Slo{}, sample_start, sample_start, 2);
    const std::string page = report_html(report);
    BOOST_TEST(unbalanced(page) == "");
    BOOST_TEST(holds(page, "no data"));
}

BOOST_AUTO_TEST_CASE(ramps_and_disturbances_have_their_sections) {
    Report report = sample_report();
    report.steps = {{20, {100, 50, 10}, 0.45, false}, {10, {100, 100, 0}, 1, true}};
    report.knee = 10;
    report.recorder.begin_phase(sample_start + 4s);
    report.disturbances = {{sample_start + 4s, "kill <it>", 0}, {sample_start + 9s, "x", {}}};
    const std::string page = report_html(report);
    BOOST_TEST(unbalanced(page) == "");
    BOOST_TEST(holds(page, "The knee (dashed) is at 10.0 requests/s."));
    BOOST_TEST(holds(page, "Disturbances"));
    BOOST_TEST(!holds(page, "<it>"));
}

BOOST_AUTO_TEST_SUITE_END()
