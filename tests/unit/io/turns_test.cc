#include "io/turns.h"

#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>
#include <string>

using namespace exa::io;
namespace asio = boost::asio;

BOOST_AUTO_TEST_SUITE(turns)

BOOST_AUTO_TEST_CASE(without_an_owner_a_turn_ends_with_what_is_posted) {
    asio::io_context context;
    std::string done;
    asio::post(context, [&] {
        Turns::of(context).at_end([&] { done += "end "; });
        done += "work ";
    });
    context.run();
    BOOST_TEST(done == "work end ");
}

BOOST_AUTO_TEST_CASE(an_owner_says_when_and_each_work_runs_once) {
    asio::io_context context;
    Turns& turns = Turns::of(context.get_executor());
    turns.take_charge();
    std::string done;
    turns.at_end([&] {
        done += "end ";
        turns.at_end([&] { done += "added "; });
    });
    context.poll();
    BOOST_TEST(done == "");
    turns.end();
    BOOST_TEST(done == "end added ");
    turns.end();
    BOOST_TEST(done == "end added ");
}

BOOST_AUTO_TEST_SUITE_END()
