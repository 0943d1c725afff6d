#include "gateway/request.h"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "support/print.h"
#include "unit/gateway/harness.h"

BOOST_AUTO_TEST_SUITE(gateway_request)

using namespace exa;
using namespace exa::gateway;
using namespace exa::gateway::test;
using namespace std::chrono_literals;

namespace {

// How an attempt is made to end.
enum class Ending { ok, busy, draining, refused, no_permit, unfit, failed, cancelled, broken, client_gone, silent };

constexpr Ending endings[] = {Ending::ok,        Ending::busy,        Ending::draining, Ending::refused,
                              Ending::no_permit, Ending::unfit,       Ending::failed,   Ending::cancelled,
                              Ending::broken,    Ending::client_gone, Ending::silent};

void end_attempt(Harness& harness, Ending ending) {
    switch (ending) {
        case Ending::ok:
            return harness.end(wire::EndCode::ok);
        case Ending::busy:
            return harness.end(wire::EndCode::busy);
        case Ending::draining:
            return harness.end(wire::EndCode::draining);
        case Ending::refused:
            return harness.end(wire::EndCode::wrong_version);
        case Ending::no_permit:
            return harness.end(wire::EndCode::deadline);
        case Ending::unfit:
            return harness.end(wire::EndCode::too_long);
        case Ending::failed:
            return harness.end(wire::EndCode::failed, "out of memory");
        case Ending::cancelled:
            return harness.end(wire::EndCode::cancelled);
        case Ending::broken:
            return harness.request.handle_broken(harness.now, harness.number(), "reset", harness.actions);
        case Ending::client_gone:
            return harness.request.handle_client_gone(harness.now, harness.actions);
        case Ending::silent:
            harness.request.handle_drained(harness.now);
            harness.now += 1h;
            return harness.request.handle_timeout(harness.now, harness.actions);
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_ending_has_one_outcome_started_or_not_local_or_remote) {
    for (const bool local : {false, true}) {
        for (const bool started : {false, true}) {
            for (const Ending ending : endings) {
                // One replica, and no queue at it: after it nothing is left to try.
                Harness harness(2, local, {.queue_wait = Duration(0)});
                harness.begin();
                BOOST_TEST(harness.take() == (local ? "local" : "stream"));
                harness.open();
                if (started) {
                    harness.head(stream_head());
                    harness.data(tokens(0, {1, 2}));
                    BOOST_TEST(harness.take() == "head body");
                }
                end_attempt(harness, ending);
                const std::string actions = harness.take();
                BOOST_TEST_CONTEXT("local " << local << " started " << started << " ending " << int(ending)) {
                    if (ending == Ending::client_gone)
                        BOOST_TEST(actions == "cancel done");
                    else if (ending == Ending::ok)
                        BOOST_TEST(actions == (started ? "end cancel done" : "head body end cancel done"));
                    else
                        BOOST_TEST(actions == (started ? "cancel body end done" : "cancel error done"));
                    BOOST_TEST(harness.request.done());
                    BOOST_TEST_REQUIRE(harness.find<Done>() != nullptr);
                    BOOST_TEST(harness.find<Done>()->answer_tokens == (started ? 2U : 0U));
                    // A prompt that is too long is the client's own error (400), unless its stream had begun.
                    const bool failed =
                        ending != Ending::ok && ending != Ending::client_gone && (ending != Ending::unfit || started);
                    BOOST_TEST(harness.find<Done>()->failed == failed);
                    BOOST_TEST(harness.dispatcher.in_flight() == 0U);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_busy_replica_is_left_for_another) {
    Harness harness;
    harness.begin();
    const ReplicaId first = harness.request.attempt().replica;
    harness.open();
    harness.take();
    harness.end(wire::EndCode::busy);
    BOOST_TEST(harness.take() == "cancel stream");
    BOOST_TEST(harness.request.attempt().replica != first);
    BOOST_TEST(harness.request.open().replica == harness.request.attempt().replica);
}

BOOST_AUTO_TEST_CASE(a_broken_stream_resumes_from_the_tokens_the_client_has) {
    Harness harness;
    harness.begin();
    harness.open();
    harness.head(stream_head());
    harness.data(tokens(0, {7, 8, 9}));
    harness.take();
    harness.request.handle_broken(harness.now, harness.number(), "reset", harness.actions);
    BOOST_TEST(harness.take() == "cancel stream");
    BOOST_TEST(harness.request.open().resumed);
    BOOST_TEST(harness.request.open().choices.front() == (std::vector<std::uint32_t>{7, 8, 9}));
    harness.open();
    harness.head(stream_head());
    BOOST_TEST(harness.take() == "");
    harness.data(tokens(3, {10}));
    BOOST_TEST(harness.take() == "body");
    harness.end(wire::EndCode::ok);
    BOOST_TEST(harness.take() == "end cancel done");
    BOOST_TEST(harness.find<Done>()->answer_tokens == 4U);
}

BOOST_AUTO_TEST_CASE(tokens_that_do_not_follow_end_the_attempt) {
    Harness harness;
    harness.begin();
    harness.open();
    harness.head(stream_head());
    harness.data(tokens(0, {7, 8}));
    harness.take();
    harness.data(tokens(1, {8}));
    BOOST_TEST(harness.take() == "cancel stream");
}

BOOST_AUTO_TEST_CASE(a_whole_answer_is_held_back_until_it_is_complete) {
    Harness harness;
    harness.begin();
    harness.open();
    harness.take();
    harness.head(json_head());
    harness.data(tokens(0, {1}));
    BOOST_TEST(harness.take() == "");
    harness.end(wire::EndCode::failed);
    BOOST_TEST(harness.take() == "cancel stream");
    harness.open();
    harness.head(json_head());
    harness.data(tokens(harness.request.open().choices.front().empty() ? 0 : 1, {1}));
    harness.end(wire::EndCode::ok);
    BOOST_TEST(harness.take() == "head body end cancel done");
}

BOOST_AUTO_TEST_CASE(a_client_error_is_a_finished_answer) {
    Harness harness;
    harness.begin();
    harness.open();
    harness.take();
    harness.head(json_head(400));
    harness.data({0, {}, "{}"});
    harness.end(wire::EndCode::ok);
    BOOST_TEST(harness.take() == "head body end cancel done");
    BOOST_TEST(harness.find<SendHead>()->status == 400);
    BOOST_TEST(!harness.find<Done>()->failed);
    BOOST_TEST(harness.dispatcher.counters().finished == 1U);
    BOOST_TEST(harness.dispatcher.counters().failures == 0U);
}

BOOST_AUTO_TEST_CASE(an_unknown_model_is_rejected_before_any_attempt) {
    Harness harness(3, false, {}, "nobody's");
    harness.begin();
    BOOST_TEST(harness.take() == "error done");
    BOOST_TEST(harness.find<SendError>()->error.status == 404);
    BOOST_TEST(!harness.find<Done>()->failed);
}

BOOST_AUTO_TEST_CASE(a_stream_that_cannot_be_opened_is_tried_elsewhere) {
    for (const OpenFailure failure :
         {OpenFailure::connect_failed, OpenFailure::link_broken, OpenFailure::too_large, OpenFailure::local_limit}) {
        Harness harness;
        harness.begin();
        harness.take();
        harness.request.handle_open_failed(harness.now, harness.number(), failure, "no", harness.actions);
        BOOST_TEST(harness.take() == "cancel stream");
    }
}

BOOST_AUTO_TEST_CASE(events_of_an_attempt_that_is_over_change_nothing) {
    Harness harness;
    harness.begin();
    const AttemptNumber first = harness.number();
    harness.open();
    harness.end(wire::EndCode::busy);
    harness.take();
    harness.request.handle_opened(first);
    harness.request.handle_head(harness.now, first, stream_head(), harness.actions);
    harness.request.handle_data(harness.now, first, tokens(0, {1}), harness.actions);
    harness.request.handle_end(harness.now, first, {}, harness.actions);
    harness.request.handle_broken(harness.now, first, "late", harness.actions);
    harness.request.handle_open_failed(harness.now, first, OpenFailure::connect_failed, "late", harness.actions);
    BOOST_TEST(harness.take() == "");
    BOOST_TEST(!harness.request.done());
}

BOOST_AUTO_TEST_CASE(silence_counts_only_while_the_client_keeps_up) {
    Harness harness;
    harness.begin();
    harness.open();
    harness.take();
    BOOST_TEST(harness.request.next_timeout() == time_never);
    harness.request.handle_drained(harness.now);
    BOOST_TEST(harness.request.next_timeout() == harness.now + Config{}.suspect_timeout / 4);
    harness.head(stream_head());
    harness.request.handle_client_slow();
    BOOST_TEST(harness.request.next_timeout() == time_never);
    harness.request.handle_drained(harness.now);
    BOOST_TEST(harness.request.next_timeout() == harness.now + Config{}.suspect_timeout);
}

BOOST_AUTO_TEST_CASE(a_silent_stream_leaves_a_suspect_peer_and_no_other) {
    Harness harness;
    harness.begin();
    harness.open();
    harness.head(stream_head());
    harness.data(tokens(0, {1}));
    harness.request.handle_drained(harness.now);
    harness.take();
    harness.now += Config{}.suspect_timeout;
    harness.request.handle_timeout(harness.now, harness.actions);
    BOOST_TEST(harness.take() == "");
    harness.cluster.peer(harness.request.attempt().peer.value).liveness = membership::Liveness::suspect;
    harness.dispatcher.handle_view(harness.cluster.routing_view());
    harness.request.handle_timeout(harness.now, harness.actions);
    BOOST_TEST(harness.take() == "", "it was looked at a moment ago");
    harness.now += Config{}.suspect_timeout;
    harness.request.handle_timeout(harness.now, harness.actions);
    BOOST_TEST(harness.take() == "cancel stream");
    BOOST_TEST(harness.request.open().resumed);
}

namespace {

// Looks until the request has left its peer, or 20 s are over; how long that took.
Duration time_to_leave(Harness& harness) {
    const TimePoint from = harness.now;
    const AttemptNumber number = harness.number();
    while (harness.number() == number && harness.now - from < 20s) {
        harness.now = std::min(harness.request.next_timeout(), from + 20s);
        harness.request.handle_timeout(harness.now, harness.actions);
    }
    return harness.now - from;
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_attempt_without_an_answer_leaves_a_suspect_soon_and_a_dead_peer_at_once) {
    using membership::Liveness;
    enum class Stage { opening, opened, head };
    for (const Stage stage : {Stage::opening, Stage::opened, Stage::head}) {
        for (const auto liveness : {Liveness::suspect, Liveness::dead}) {
            Harness harness;
            harness.begin();
            if (stage != Stage::opening) harness.open();
            if (stage == Stage::head) harness.head(json_head());
            harness.request.handle_drained(harness.now);
            harness.take();
            BOOST_TEST((time_to_leave(harness) == 20s), "nobody doubts that peer");
            harness.cluster.peer(harness.request.attempt().peer.value).liveness = liveness;
            harness.dispatcher.handle_view(harness.cluster.routing_view());
            const Duration hedge = Config{}.suspect_timeout;
            const Duration took = time_to_leave(harness);
            if (liveness == Liveness::suspect) BOOST_TEST((took >= hedge && took <= hedge + hedge / 2));
            if (liveness == Liveness::dead) BOOST_TEST((took <= hedge / 4));
            BOOST_TEST(harness.take() == "cancel stream");
            BOOST_TEST((harness.request.last_outcome() == Outcome::suspect));
        }
    }
}

BOOST_AUTO_TEST_CASE(an_attempt_stays_at_a_suspect_that_refutes_and_where_nobody_else_is) {
    using membership::Liveness;
    Harness harness;
    harness.begin();
    harness.open();
    harness.request.handle_drained(harness.now);
    harness.take();
    const auto believe = [&](std::uint64_t peer, Liveness liveness) {
        harness.cluster.peer(peer).liveness = liveness;
        harness.dispatcher.handle_view(harness.cluster.routing_view());
    };
    const std::uint64_t target = harness.request.attempt().peer.value;
    for (int i = 0; i < 4; ++i) {
        for (const auto liveness : {Liveness::suspect, Liveness::alive}) {
            believe(target, liveness);
            for (int look = 0; look < 3; ++look) {
                harness.now = harness.request.next_timeout();
                harness.request.handle_timeout(harness.now, harness.actions);
            }
        }
    }
    BOOST_TEST(harness.take() == "", "each suspicion was shorter than the hedge");
    for (const std::uint64_t peer : {2U, 3U}) believe(peer, Liveness::suspect);
    BOOST_TEST((time_to_leave(harness) == 20s));
    BOOST_TEST(harness.take() == "");
}

BOOST_AUTO_TEST_CASE(a_request_at_a_given_replica_is_tried_nowhere_else) {
    for (const bool answered : {true, false}) {
        Harness harness;
        harness.request.start_at({PeerId{1}, deployment_id("d"), 0}, harness.actions);
        BOOST_TEST(harness.take() == "local");
        if (answered) harness.head(json_head());
        harness.end(answered ? wire::EndCode::ok : wire::EndCode::busy);
        BOOST_TEST(harness.take() == (answered ? "head body end cancel done" : "cancel error done"));
        BOOST_TEST(harness.dispatcher.counters().begun == 0U);
    }
}

BOOST_AUTO_TEST_CASE(a_cut_whole_answer_gets_no_end) {
    Harness harness(2);
    harness.cluster.replica(2, 0).numerics.clear();
    harness.dispatcher.handle_view(harness.cluster.routing_view());
    harness.begin();
    harness.open();
    harness.take();
    harness.head(json_head());
    harness.data({0, {}, std::string(70'000, 'x')});
    BOOST_TEST(harness.take() == "head body");
    harness.request.handle_broken(harness.now, harness.number(), "reset", harness.actions);
    BOOST_TEST(harness.take() == "cancel done");
    BOOST_TEST(harness.find<Done>()->failed);
}

BOOST_AUTO_TEST_CASE(the_shortest_wait_a_busy_replica_names_reaches_the_client) {
    Harness harness(3);
    harness.begin();
    for (const Duration wait : {Duration(900ms), Duration(400ms)}) {
        harness.open();
        harness.request.handle_end(harness.now, harness.number(), {wire::EndCode::busy, "", {}, wait}, harness.actions);
    }
    while (!harness.request.done()) {
        harness.open();
        harness.end(wire::EndCode::deadline);
    }
    harness.take();
    BOOST_TEST_REQUIRE(harness.find<SendError>() != nullptr);
    BOOST_TEST(harness.find<SendError>()->error.status == 503);
    BOOST_TEST(harness.find<SendError>()->error.retry_after_ms.value_or(0) == 400U);
}

BOOST_AUTO_TEST_SUITE_END()
