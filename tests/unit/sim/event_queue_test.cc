#include "sim/world/event_queue.h"

#include <boost/test/unit_test.hpp>
#include <utility>

#include "base/rng.h"
#include "support/print.h"

using namespace exa;
using namespace exa::sim;

BOOST_AUTO_TEST_SUITE(event_queue)

BOOST_AUTO_TEST_CASE(events_come_by_time_and_then_in_the_order_they_were_pushed) {
    EventQueue queue;
    Rng rng(1);
    for (std::uint64_t i = 0; i < 2000; ++i)
        queue.push({.at = WorldTime{Duration{static_cast<Duration::rep>(rng.below(50))}}, .arg = i});
    BOOST_TEST(queue.size() == 2000U);
    Event last = queue.pop();
    while (!queue.empty()) {
        const Event next = queue.pop();
        BOOST_TEST(std::pair(next.at, next.arg) > std::pair(last.at, last.arg));
        last = next;
    }
}

BOOST_AUTO_TEST_CASE(what_is_pushed_while_popping_takes_its_place) {
    EventQueue queue;
    queue.push({.at = WorldTime{Duration{10}}, .arg = 1});
    queue.push({.at = WorldTime{Duration{30}}, .arg = 3});
    BOOST_TEST(queue.pop().arg == 1U);
    queue.push({.at = WorldTime{Duration{20}}, .arg = 2});
    BOOST_TEST(queue.pop().arg == 2U);
    BOOST_TEST(queue.pop().arg == 3U);
    BOOST_TEST(queue.empty());
}

BOOST_AUTO_TEST_SUITE_END()
