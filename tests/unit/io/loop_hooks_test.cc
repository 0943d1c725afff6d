#include "io/loop_hooks.h"

#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>
#include <string>

using namespace exa::io;
namespace asio = boost::asio;

BOOST_AUTO_TEST_SUITE(loop_hooks)

BOOST_AUTO_TEST_CASE(without_a_driver_an_iteration_ends_with_what_is_posted) {
    asio::io_context context;
    std::string done;
    asio::post(context, [&] {
        LoopHooks::of(context).at_end([&] { done += "end "; });
        done += "work ";
    });
    context.run();
    BOOST_TEST(done == "work end ");
}

BOOST_AUTO_TEST_CASE(driver_says_when_and_each_work_runs_once) {
    asio::io_context context;
    LoopHooks& hooks = LoopHooks::of(context.get_executor());
    hooks.set_driven_by_loop();
    std::string done;
    hooks.at_end([&] {
        done += "end ";
        hooks.at_end([&] { done += "added "; });
    });
    context.poll();
    BOOST_TEST(done == "");
    hooks.end_iteration();
    BOOST_TEST(done == "end added ");
    hooks.end_iteration();
    BOOST_TEST(done == "end added ");
}

BOOST_AUTO_TEST_SUITE_END()
