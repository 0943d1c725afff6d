#include "app/door/turn.h"

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
    Turn turn;
    const auto job = std::make_shared<Job>();
    turn.add(job);
    turn.add(job);
    BOOST_TEST(job->runs == 0);
    BOOST_TEST(!turn.empty());
    turn.run();
    BOOST_TEST(job->runs == 1);
    BOOST_TEST(turn.empty());
}

BOOST_AUTO_TEST_CASE(what_a_turn_adds_runs_in_the_next_one) {
    Turn turn;
    const auto again = std::make_shared<Job>();
    again->then = [&] {
        if (again->runs < 3) turn.add(again);
    };
    turn.add(again);
    for (int i = 1; i <= 3; ++i) {
        BOOST_TEST(!turn.empty());
        turn.run();
        BOOST_TEST(again->runs == i);
    }
    BOOST_TEST(turn.empty());
}

BOOST_AUTO_TEST_CASE(streams_are_told_of_once) {
    Turn turn;
    BOOST_TEST(!turn.take_streams());
    turn.note_stream();
    turn.note_stream();
    BOOST_TEST(turn.take_streams());
    BOOST_TEST(!turn.take_streams());
}

BOOST_AUTO_TEST_SUITE_END()
