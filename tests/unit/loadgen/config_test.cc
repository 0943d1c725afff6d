#include "loadgen/config.h"

#include <boost/test/unit_test.hpp>

#include "loadgen/errc.h"
#include "support/print.h"

using namespace exa;
using namespace exa::loadgen;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(config)

BOOST_AUTO_TEST_CASE(the_defaults_are_valid) {
    BOOST_TEST(validate(Config{}).has_value());
}

BOOST_AUTO_TEST_CASE(a_value_out_of_range_is_named_with_its_range) {
    Config config;
    config.slo.share = 1.5;
    const auto checked = validate(config);
    BOOST_TEST_REQUIRE(!checked.has_value());
    BOOST_TEST(checked.error().code == errc::invalid_config);
    BOOST_TEST(checked.error().detail == "--slo-share = 150 %, must be 0 .. 100 %");
    config = {};
    config.duration = 0us;
    BOOST_TEST(!validate(config).has_value());
    config = {};
    config.threads = 8;
    config.concurrency = 7;
    BOOST_TEST(!validate(config).has_value());
    config.arrivals = ArrivalKind::poisson;
    BOOST_TEST(validate(config).has_value());
}

BOOST_AUTO_TEST_CASE(the_shares_of_threads_add_up_to_the_whole) {
    Config config;
    config.concurrency = 17;
    config.requests = 1001;
    config.rate = 30;
    config.threads = 4;
    std::uint32_t clients = 0;
    std::uint64_t requests = 0;
    double rate = 0;
    for (std::uint32_t thread = 0; thread < config.threads; ++thread) {
        const Config part = share_of(config, thread);
        clients += part.concurrency;
        requests += part.requests;
        rate += part.rate;
    }
    BOOST_TEST(clients == 17u);
    BOOST_TEST(requests == 1001u);
    BOOST_TEST(rate == 30);
}

BOOST_AUTO_TEST_SUITE_END()
