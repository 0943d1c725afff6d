#include "app/turn.h"

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>
#include <functional>

BOOST_AUTO_TEST_SUITE(turn)

using namespace exa::app;

namespace {

struct Job final : Runnable {
    void run() override {
        ++runs;
        if (then) then();
    }
    int runs = 0;
    std::function<void()> then;
};

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_added_twice_runs_once_and_never_at_once) {
    boost::asio::io_context context;
    Turn turn(context.get_executor());
    const auto job = std::make_shared<Job>();
    turn.add(job);
    turn.add(job);
    BOOST_TEST(job->runs == 0);
    BOOST_TEST(context.poll() == 1U);
    BOOST_TEST(job->runs == 1);
}

BOOST_AUTO_TEST_CASE(what_a_turn_adds_runs_in_the_next_one) {
    boost::asio::io_context context;
    Turn turn(context.get_executor());
    const auto again = std::make_shared<Job>();
    again->then = [&] {
        if (again->runs < 3) turn.add(again);
    };
    turn.add(again);
    for (int i = 1; i <= 3; ++i) {
        context.poll_one();
        BOOST_TEST(again->runs == i);
    }
    BOOST_TEST(context.poll() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
