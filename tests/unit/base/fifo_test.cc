#include "base/fifo.h"

#include <boost/test/unit_test.hpp>
#include <deque>
#include <memory>
#include <string>

#include "base/rng.h"

using namespace exa;

BOOST_AUTO_TEST_SUITE(fifo)

BOOST_AUTO_TEST_CASE(it_does_what_a_deque_does) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Rng rng(seed);
        Fifo<std::string> queue;
        std::deque<std::string> model;
        for (int step = 0; step < 2000; ++step) {
            // Now it grows, now it drains.
            if (rng.below(100) < (step / 200 % 2 == 0 ? 60U : 40U)) {
                model.push_back("a string that is longer than short ones, " + std::to_string(step));
                queue.push(model.back());
            } else if (!model.empty()) {
                BOOST_TEST_REQUIRE(queue.front() == model.front());
                BOOST_TEST_REQUIRE(queue.pop() == model.front());
                model.pop_front();
            }
            if (rng.below(500) == 0) {
                queue.clear();
                model.clear();
            }
            BOOST_TEST_REQUIRE(queue.size() == model.size());
            BOOST_TEST_REQUIRE(queue.empty() == model.empty());
        }
    }
}

BOOST_AUTO_TEST_CASE(what_was_taken_is_not_held) {
    Fifo<std::shared_ptr<int>> queue;
    const auto item = std::make_shared<int>(1);
    for (int i = 0; i < 3; ++i) queue.push(item);
    queue.pop();
    queue.pop();
    BOOST_TEST(item.use_count() == 2);
    queue.clear();
    BOOST_TEST(item.use_count() == 1);
}

BOOST_AUTO_TEST_SUITE_END()
