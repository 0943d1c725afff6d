#include "app/open_files.h"

#include <sys/resource.h>

#include <boost/test/unit_test.hpp>

#include "support/print.h"

using namespace exa;

BOOST_AUTO_TEST_SUITE(open_files)

BOOST_AUTO_TEST_CASE(a_limit_below_the_connections_is_said_with_both_numbers) {
    app::config::PeerConfig config;
    config.http.threads = 2;
    config.http_server.connections_max = 1000;
    const std::uint64_t needed = app::open_files_needed(config);
    BOOST_TEST(needed > 2000U);
    BOOST_TEST(app::open_files_problem(config, needed).empty());
    const std::string problem = app::open_files_problem(config, 1024);
    BOOST_TEST(problem.find("1024") != std::string::npos, problem);
    BOOST_TEST(problem.find(std::to_string(needed)) != std::string::npos, problem);
    config.kv.resp_listen = "127.0.0.1:6379";
    BOOST_TEST(app::open_files_needed(config) > needed);
}

BOOST_AUTO_TEST_CASE(the_limit_is_raised_as_far_as_it_may_be) {
    rlimit before{};
    BOOST_TEST_REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
    BOOST_TEST(app::raise_open_files_limit() == before.rlim_max);
}

BOOST_AUTO_TEST_SUITE_END()
