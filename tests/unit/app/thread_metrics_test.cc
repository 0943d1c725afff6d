#include "app/thread_metrics.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(thread_stats)

using namespace exa::app;

BOOST_AUTO_TEST_CASE(each_thread_has_a_place_of_its_own_and_its_last_word_counts) {
    ThreadMetrics board(3);
    ThreadCounters stats;
    stats.http.requests = 7;
    board.store(2, stats);
    stats.http.requests = 8;
    board.store(2, stats);
    stats.http.requests = 1;
    board.store(0, stats);
    const auto all = board.all();
    BOOST_TEST_REQUIRE(all.size() == board.threads());
    BOOST_TEST(all[0].http.requests == 1U);
    BOOST_TEST(all[1].http.requests == 0U);
    BOOST_TEST(all[2].http.requests == 8U);
}

BOOST_AUTO_TEST_SUITE_END()
