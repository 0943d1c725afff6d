#include "loadgen/recorder.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

using namespace exa;
using namespace exa::loadgen;
using namespace std::chrono_literals;

namespace {

constexpr TimePoint start{1'000s};
constexpr TimePoint warm = start + 10s;

Outcome answer(TimePoint intended, TimePoint done) {
    Outcome outcome;
    outcome.intended = intended;
    outcome.done = done;
    outcome.ttft = 100ms;
    outcome.output_tokens = 10;
    return outcome;
}

Outcome refusal(TimePoint intended, int status) {
    Outcome outcome;
    outcome.intended = intended;
    outcome.done = intended + 1ms;
    outcome.failure = Failure::status;
    outcome.status = status;
    outcome.message = "busy " + std::to_string(status);
    return outcome;
}

Recorder recorder() {
    return {Slo{}, start, warm, 2};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(recorder_)

BOOST_AUTO_TEST_CASE(the_warm_up_counts_in_no_latency_and_its_late_answers_only_in_rates) {
    Recorder r = recorder();
    r.finished(answer(start + 1s, start + 2s));
    r.finished(answer(start + 9s, warm + 1s));
    BOOST_TEST(r.due().finished() == 0u);
    BOOST_TEST(r.e2e_us().count() == 0u);
    BOOST_TEST(r.ended().succeeded == 1u);
    BOOST_TEST(r.output_tokens() == 10u);
    r.finished(answer(warm, warm + 3s));
    BOOST_TEST(r.due().succeeded == 1u);
    BOOST_TEST(r.e2e_us().max() == 3'000'000u);
}

BOOST_AUTO_TEST_CASE(what_ends_behind_the_measured_time_counts_in_latency_but_not_in_rates) {
    Recorder r = recorder();
    r.close(warm + 10s);
    r.finished(answer(warm + 9s, warm + 12s));
    BOOST_TEST(r.due().succeeded == 1u);
    BOOST_TEST(r.ended().succeeded == 0u);
    r.token(warm + 11s, warm + 9s, 20ms);
    BOOST_TEST(r.tokens() == 0u);
    BOOST_TEST(r.tbt_us().count() == 1u);
}

BOOST_AUTO_TEST_CASE(failures_are_counted_by_kind_status_and_target) {
    Recorder r = recorder();
    r.finished(refusal(warm, 503));
    r.finished(refusal(warm, 503));
    r.finished(refusal(warm, 429));
    Outcome reset = answer(warm, warm + 1s);
    reset.failure = Failure::reset;
    reset.target = 1;
    r.finished(reset);
    BOOST_TEST(r.due().failed == 4u);
    BOOST_TEST(r.statuses().at(503) == 2u);
    BOOST_TEST(r.statuses().at(429) == 1u);
    BOOST_TEST(r.failures()[static_cast<std::size_t>(Failure::reset)] == 1u);
    BOOST_TEST(r.samples().at("status_503") == "busy 503");
    BOOST_TEST(r.targets()[0].failed == 3u);
    BOOST_TEST(r.targets()[1].failed == 1u);
    BOOST_TEST(r.e2e_us().count() == 0u);
}

BOOST_AUTO_TEST_CASE(a_server_that_invents_statuses_takes_no_more_memory) {
    Recorder r = recorder();
    for (int status = 300; status < 1000; ++status) r.finished(refusal(warm, status));
    BOOST_TEST(r.statuses().size() <= Recorder::statuses_max + 1);
    BOOST_TEST(r.samples().size() <= Recorder::statuses_max + failure_kinds);
    std::uint64_t sum = 0;
    for (const auto& [status, count] : r.statuses()) sum += count;
    BOOST_TEST(sum == 700u);
}

BOOST_AUTO_TEST_CASE(a_phase_tells_how_long_the_trouble_behind_its_start_lasted) {
    Recorder r = recorder();
    r.finished(refusal(warm, 503));
    r.begin_phase(warm + 10s);
    r.finished(answer(warm + 9s, warm + 11s));
    Outcome late = refusal(warm + 10s, 502);
    late.done = warm + 13s;
    late.stall = 3s;
    r.finished(late);
    r.finished(answer(warm + 14s, warm + 15s));
    BOOST_TEST_REQUIRE(r.phases().size() == 1u);
    const Phase& phase = r.phases().front();
    BOOST_TEST(phase.requests.succeeded == 2u);
    BOOST_TEST(phase.requests.failed == 1u);
    BOOST_TEST(phase.troubled_until - phase.start == 3s);
    BOOST_TEST(phase.stall_max == 3s);
}

BOOST_AUTO_TEST_CASE(phases_are_bounded) {
    Recorder r = recorder();
    for (std::size_t i = 0; i < Recorder::phases_max + 10; ++i) r.begin_phase(warm);
    BOOST_TEST(r.phases().size() == Recorder::phases_max);
}

BOOST_AUTO_TEST_CASE(merged_recorders_add_up) {
    Recorder a = recorder();
    Recorder b = recorder();
    for (Recorder* r : {&a, &b}) {
        r->begin_phase(warm);
        r->started(warm);
        r->finished(answer(warm, warm + 1s));
        r->finished(refusal(warm, 503));
        r->first_token(warm);
        r->token(warm, warm, 5ms);
        r->retried();
        r->cut_off();
    }
    b.begin_phase(warm + 1s);
    a.merge(b);
    BOOST_TEST(a.due().succeeded == 2u);
    BOOST_TEST(a.due().failed == 2u);
    BOOST_TEST(a.ended().met == 2u);
    BOOST_TEST(a.tokens() == 4u);
    BOOST_TEST(a.tbt_us().count() == 2u);
    BOOST_TEST(a.statuses().at(503) == 2u);
    BOOST_TEST(a.retries() == 2u);
    BOOST_TEST(a.cut_off_count() == 2u);
    BOOST_TEST(a.targets()[0].succeeded == 2u);
    BOOST_TEST_REQUIRE(a.phases().size() == 2u);
    BOOST_TEST(a.phases()[0].requests.finished() == 4u);
    BOOST_TEST(a.timeline().windows().at(40).started == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
