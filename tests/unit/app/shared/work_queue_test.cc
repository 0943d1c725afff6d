#include "app/shared/work_queue.h"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <future>
#include <thread>
#include <vector>

using exa::app::shared::WorkQueue;

BOOST_AUTO_TEST_SUITE(work_queue)

BOOST_AUTO_TEST_CASE(work_runs_in_the_order_of_posting) {
    std::vector<int> order;
    {
        WorkQueue queue(1);
        for (int i = 0; i < 5; ++i) BOOST_TEST(queue.post([&order, i](const std::stop_token&) { order.push_back(i); }));
    }
    BOOST_TEST(order == (std::vector<int>{0, 1, 2, 3, 4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_was_posted_runs_also_when_the_queue_stops) {
    WorkQueue queue(1);
    std::atomic<int> ran = 0;
    std::atomic<int> told_to_end = 0;
    queue.post([](const std::stop_token& stopping) {
        while (!stopping.stop_requested()) std::this_thread::yield();
    });
    for (int i = 0; i < 3; ++i)
        queue.post([&](const std::stop_token& stopping) {
            ++ran;
            told_to_end += stopping.stop_requested() ? 1 : 0;
        });
    queue.stop();
    BOOST_TEST(ran == 3);
    BOOST_TEST(told_to_end == 3);
    BOOST_TEST(!queue.post([&](const std::stop_token&) { ++ran; }));
    queue.stop();
    BOOST_TEST(ran == 3);
}

BOOST_AUTO_TEST_CASE(threads_work_side_by_side) {
    WorkQueue queue(2);
    std::promise<void> first, second;
    std::atomic<int> ended = 0;
    queue.post([&](const std::stop_token&) {
        first.set_value();
        second.get_future().get();
        ++ended;
    });
    queue.post([&](const std::stop_token&) {
        first.get_future().get();
        second.set_value();
        ++ended;
    });
    queue.stop();
    BOOST_TEST(ended == 2);
}

BOOST_AUTO_TEST_SUITE_END()
