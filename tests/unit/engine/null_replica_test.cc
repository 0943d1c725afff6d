#include "engine/null_replica.h"

#include <boost/test/unit_test.hpp>
#include <vector>

#include "engine/errc.h"
#include "support/print.h"

BOOST_AUTO_TEST_SUITE(null_replica)

using namespace exa;
using namespace exa::engine;
using namespace std::chrono_literals;

namespace {

GenerateRequest request(std::size_t prompt_tokens, std::uint32_t max_tokens, std::uint64_t seed = 1) {
    GenerateRequest request;
    request.prompt.assign(prompt_tokens, 7);
    request.max_tokens = max_tokens;
    request.sampling.seed = seed;
    request.stop_tokens = {0};
    return request;
}

struct Timed {
    Duration at;
    TokenEvent event;
};

// Runs on a virtual clock until nothing is left to do.
std::vector<Timed> run(NullReplica& replica, TimePoint start) {
    std::vector<Timed> heard;
    for (TimePoint now = start;;) {
        while (replica.step(now)) {
            while (const auto event = replica.poll_event()) heard.push_back({now - start, *event});
        }
        if (replica.next_step() == time_never) return heard;
        now = replica.next_step();
    }
}

const TimePoint start{1h};

}  // namespace

BOOST_AUTO_TEST_CASE(tokens_come_when_prefill_and_decode_say) {
    NullReplica replica({.prefill_per_token = 1ms, .decode_per_token = 20ms});
    BOOST_TEST(replica.submit(start, RequestId{1}, request(100, 3)).has_value());
    BOOST_TEST(replica.load().queued_tokens == 100U);
    const auto heard = run(replica, start);
    BOOST_TEST_REQUIRE(heard.size() == 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        BOOST_TEST(heard[i].at == 100ms + 20ms * static_cast<int>(i));
        BOOST_TEST(heard[i].event.offset == i);
    }
    BOOST_TEST(heard[2].event.finish == FinishReason::length);
    BOOST_TEST(replica.load().in_flight == 0U);
}

BOOST_AUTO_TEST_CASE(resumed_stream_goes_on_with_the_same_tokens) {
    NullReplica first({});
    BOOST_TEST(first.submit(start, RequestId{1}, request(4, 20)).has_value());
    const auto whole = run(first, start);
    BOOST_TEST_REQUIRE(whole.size() == 20U);

    NullReplica second({});
    GenerateRequest rest = request(4, 20);
    for (std::size_t i = 0; i < 8; ++i) rest.prompt.push_back(whole[i].event.token);
    rest.resumed_tokens = 8;
    BOOST_TEST(second.submit(start, RequestId{1}, rest).has_value());
    const auto continued = run(second, start);
    BOOST_TEST_REQUIRE(continued.size() == 12U);
    for (std::size_t i = 0; i < 12; ++i) {
        BOOST_TEST(continued[i].event.offset == 8 + i);
        BOOST_TEST(continued[i].event.token == whole[8 + i].event.token);
    }
}

BOOST_AUTO_TEST_CASE(answer_length_ends_with_a_stop_token_and_no_other_token_stops) {
    NullReplica replica({.vocab_size = 3, .answer_tokens = 50});
    BOOST_TEST(replica.submit(start, RequestId{1}, request(1, 1000)).has_value());
    const auto heard = run(replica, start);
    BOOST_TEST_REQUIRE(heard.size() == 50U);
    for (std::size_t i = 0; i + 1 < 50; ++i) BOOST_TEST(heard[i].event.token != 0U);
    BOOST_TEST(heard.back().event.token == 0U);
    BOOST_TEST(heard.back().event.finish == FinishReason::stop);
}

BOOST_AUTO_TEST_CASE(jitter_stays_within_its_share) {
    NullReplica replica({.decode_per_token = 10ms, .jitter_permille = 500});
    BOOST_TEST(replica.submit(start, RequestId{1}, request(1, 500)).has_value());
    const auto heard = run(replica, start);
    Duration least = 1h;
    Duration most{0};
    for (std::size_t i = 1; i < heard.size(); ++i) {
        least = std::min(least, heard[i].at - heard[i - 1].at);
        most = std::max(most, heard[i].at - heard[i - 1].at);
    }
    BOOST_TEST(least >= 5ms);
    BOOST_TEST(most <= 15ms);
    BOOST_TEST(most - least > 5ms);
}

BOOST_AUTO_TEST_CASE(limits_are_kept_and_cancel_ends_once) {
    NullReplica replica({.in_flight_limit = 1, .context_tokens = 10, .decode_per_token = 1s});
    BOOST_TEST(replica.submit(start, RequestId{1}, request(8, 3)).error().code == errc::prompt_too_long);
    BOOST_TEST(replica.submit(start, RequestId{1}, request(0, 3)).error().code == errc::invalid_request);
    BOOST_TEST(replica.submit(start, RequestId{1}, request(5, 5)).has_value());
    BOOST_TEST(replica.submit(start, RequestId{2}, request(5, 5)).error().code == errc::busy);
    replica.cancel(RequestId{1});
    replica.cancel(RequestId{1});
    BOOST_TEST(replica.poll_event()->finish == FinishReason::cancelled);
    BOOST_TEST(!replica.poll_event().has_value());
    BOOST_TEST(replica.submit(start, RequestId{2}, request(5, 5)).has_value());
}

BOOST_AUTO_TEST_CASE(what_needs_a_model_is_refused) {
    NullReplica replica{NullConfig{}};
    BOOST_TEST(replica.abilities() == Abilities{});
    GenerateRequest request;
    request.prompt = {1};
    request.max_tokens = 1;
    request.top_logprobs = 0;
    BOOST_TEST(replica.submit({}, {1}, request).error().code == errc::invalid_request);
    request.top_logprobs.reset();
    request.sampling.frequency_penalty = 1;
    BOOST_TEST(replica.submit({}, {1}, request).error().code == errc::invalid_request);
    request.sampling.frequency_penalty = 0;
    BOOST_TEST(replica.submit({}, {1}, request).has_value());
    request.embeds = true;
    request.max_tokens = 0;
    BOOST_TEST(replica.submit({}, {2}, request).error().code == errc::invalid_request);
}

BOOST_AUTO_TEST_SUITE_END()
