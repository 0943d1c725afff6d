#include "router/load_score.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(load_score)

using exa::router::load_score_of;

BOOST_AUTO_TEST_CASE(requests_alone_count_for_one_each) {
    BOOST_TEST(load_score_of({}) == 0U);
    BOOST_TEST(load_score_of({.requests = 7}) == 700U);
    BOOST_TEST(load_score_of({.requests = 7, .kv_used_permille = 800, .tbt_p99_ms = 100}) == 700U);
}

BOOST_AUTO_TEST_CASE(waiting_prompts_count_up_to_a_bound) {
    BOOST_TEST(load_score_of({.queued_tokens = 512}) == 50U);
    BOOST_TEST(load_score_of({.requests = 1, .queued_tokens = 2'048}) == 300U);
    BOOST_TEST(load_score_of({.queued_tokens = 4'000'000'000}) == 1'600U);
}

BOOST_AUTO_TEST_CASE(late_tokens_make_each_request_count_for_more_and_an_idle_replica_no_different) {
    BOOST_TEST(load_score_of({.requests = 4, .tbt_p99_ms = 200}) == 800U);
    BOOST_TEST(load_score_of({.requests = 4, .tbt_p99_ms = 9'000}) == 1'200U);
    BOOST_TEST(load_score_of({.tbt_p99_ms = 9'000}) == 0U);
}

BOOST_AUTO_TEST_CASE(full_memory_counts_for_four_requests) {
    BOOST_TEST(load_score_of({.kv_used_permille = 900}) == 200U);
    BOOST_TEST(load_score_of({.kv_used_permille = 1'000}) == 400U);
    BOOST_TEST(load_score_of({.kv_used_permille = 60'000}) == 400U);
}

BOOST_AUTO_TEST_SUITE_END()
