#include "app/gateway/ready_queue.h"

#include <boost/test/unit_test.hpp>
#include <functional>

BOOST_AUTO_TEST_SUITE(ready_queue)

using namespace exa::app;
using namespace exa::app::gateway;

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
    ReadyQueue ready;
    const auto job = std::make_shared<Job>();
    ready.add(job);
    ready.add(job);
    BOOST_TEST(job->runs == 0);
    BOOST_TEST(!ready.empty());
    ready.run();
    BOOST_TEST(job->runs == 1);
    BOOST_TEST(ready.empty());
}

BOOST_AUTO_TEST_CASE(what_an_iteration_adds_runs_in_the_next_one) {
    ReadyQueue ready;
    const auto again = std::make_shared<Job>();
    again->then = [&] {
        if (again->runs < 3) ready.add(again);
    };
    ready.add(again);
    for (int i = 1; i <= 3; ++i) {
        BOOST_TEST(!ready.empty());
        ready.run();
        BOOST_TEST(again->runs == i);
    }
    BOOST_TEST(ready.empty());
}

BOOST_AUTO_TEST_CASE(streams_are_told_of_once) {
    ReadyQueue ready;
    BOOST_TEST(!ready.take_streams());
    ready.note_stream();
    ready.note_stream();
    BOOST_TEST(ready.take_streams());
    BOOST_TEST(!ready.take_streams());
}

BOOST_AUTO_TEST_SUITE_END()
