#include "loadgen/call.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

using namespace exa;
using namespace exa::loadgen;
using namespace std::chrono_literals;

namespace {

constexpr TimePoint due{1'000s};

std::string event(std::string_view text) {
    return "data: {\"choices\":[{\"delta\":{\"content\":\"" + std::string(text) + "\"}}]}\n\n";
}

struct Run {
    Recorder recorder{Slo{}, due, due, 1};
    Call call;

    explicit Run(bool stream) : call(recorder, due, 0, stream, true) {}
    std::uint64_t failed_by(Failure failure) const { return recorder.failures()[static_cast<std::size_t>(failure)]; }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(call)

BOOST_AUTO_TEST_CASE(times_of_a_stream_count_from_when_it_was_due) {
    Run run(true);
    run.call.head(200);
    BOOST_TEST(!run.call.has_token());
    // The role comes before any text and is no token.
    BOOST_TEST(run.call.piece(due + 100ms, event("")));
    BOOST_TEST(!run.call.has_token());
    BOOST_TEST(run.call.piece(due + 300ms, event("a")));
    BOOST_TEST(run.call.piece(due + 350ms, event("b") + event("c")));
    BOOST_TEST(run.call.piece(due + 1350ms, event("d") + "data: [DONE]\n\n"));
    run.call.end(due + 1400ms);
    BOOST_TEST(run.call.ok());
    BOOST_TEST(run.call.text() == "abcd");
    BOOST_TEST(run.recorder.ttft_us().max() == 300'000u);
    BOOST_TEST(run.recorder.tbt_us().count() == 3u);
    BOOST_TEST(run.recorder.tbt_us().min() == 0u);
    BOOST_TEST(run.recorder.tbt_us().max() == 1'000'000u);
    BOOST_TEST(run.recorder.e2e_us().max() == 1'400'000u);
    BOOST_TEST(run.recorder.stall_max() == 1s);
    BOOST_TEST(run.recorder.tokens() == 4u);
    BOOST_TEST(run.recorder.output_tokens() == 4u);
    // One gap of three is over 250 ms.
    BOOST_TEST(run.recorder.due().met == 0u);
}

BOOST_AUTO_TEST_CASE(an_answer_in_one_piece_is_its_own_first_token) {
    Run run(false);
    run.call.head(200);
    run.call.piece(due + 1s, R"({"choices":[{"message":{"content":"x"}}],"usage":{"completion_tokens":7}})");
    run.call.end(due + 2s);
    BOOST_TEST(run.call.ok());
    BOOST_TEST(run.recorder.ttft_us().max() == 2'000'000u);
    BOOST_TEST(run.recorder.output_tokens() == 7u);
    BOOST_TEST(run.recorder.tbt_us().count() == 0u);
}

BOOST_AUTO_TEST_CASE(a_status_other_than_2xx_is_a_failure_with_its_message) {
    Run run(true);
    run.call.head(503);
    run.call.piece(due + 1ms, R"({"error":{"message":"all busy"}})");
    run.call.end(due + 2ms);
    BOOST_TEST(!run.call.ok());
    BOOST_TEST(run.recorder.statuses().at(503) == 1u);
    BOOST_TEST(run.recorder.samples().at("status_503") == "all busy");
    BOOST_TEST(run.recorder.ttft_us().count() == 0u);
}

BOOST_AUTO_TEST_CASE(a_request_sent_again_still_counts_from_when_it_was_due) {
    Run run(false);
    run.call.head(503);
    run.call.piece(due + 1ms, "busy");
    run.call.head(200);
    run.call.piece(due + 1s, R"({"choices":[{"message":{"content":"x"}}]})");
    run.call.end(due + 1s);
    BOOST_TEST(run.call.ok());
    BOOST_TEST(run.recorder.e2e_us().max() == 1'000'000u);
    BOOST_TEST(run.recorder.due().finished() == 1u);
}

BOOST_AUTO_TEST_CASE(a_bad_event_ends_the_call_and_names_the_reason_whatever_the_connection_does) {
    Run run(true);
    run.call.head(200);
    BOOST_TEST(run.call.piece(due + 1ms, event("a")));
    BOOST_TEST(!run.call.piece(due + 2ms, "data: {\"error\":{\"message\":\"gone\"}}\n\n"));
    run.call.fail(due + 3ms, Failure::reset, "closed by us");
    BOOST_TEST(run.failed_by(Failure::error_event) == 1u);
    BOOST_TEST(run.failed_by(Failure::reset) == 0u);
    BOOST_TEST(run.recorder.samples().at("error_event") == "gone");
}

BOOST_AUTO_TEST_CASE(a_broken_connection_counts_the_wait_before_it_as_a_stall) {
    Run run(true);
    run.call.head(200);
    run.call.piece(due + 100ms, event("a"));
    run.call.fail(due + 5s, Failure::idle_timeout, "silence");
    BOOST_TEST(run.failed_by(Failure::idle_timeout) == 1u);
    BOOST_TEST(run.recorder.stall_max() == 4900ms);
}

BOOST_AUTO_TEST_CASE(a_call_cut_off_is_neither_a_success_nor_a_failure) {
    Run run(true);
    run.call.cut_off();
    BOOST_TEST(run.recorder.due().finished() == 0u);
    BOOST_TEST(run.recorder.cut_off_count() == 1u);
}

BOOST_AUTO_TEST_CASE(a_refusal_without_end_is_read_in_bounds) {
    Run run(true);
    run.call.head(500);
    const std::string piece(512 * 1024, 'x');
    for (int i = 0; i < 10; ++i) BOOST_TEST(run.call.piece(due, piece));
    run.call.end(due + 1s);
    BOOST_TEST(run.recorder.statuses().at(500) == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
