#include "router/config.h"

#include <boost/test/unit_test.hpp>

#include "router/errc.h"
#include "support/print.h"

using namespace exa::router;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(config)

BOOST_AUTO_TEST_CASE(the_defaults_are_valid) {
    BOOST_TEST(validate(Config()).has_value());
}

BOOST_AUTO_TEST_CASE(a_bad_value_is_named_with_its_range) {
    Config config;
    config.attempts_max = 9;
    const auto result = validate(config);
    BOOST_REQUIRE(!result.has_value());
    BOOST_TEST(result.error().code == errc::invalid_config);
    BOOST_TEST(result.error().message() == "attempts_max: '9' is not a whole number from 1 to 8: out of range");
}

BOOST_AUTO_TEST_CASE(a_maximum_below_its_start_is_refused) {
    Config config;
    config.breaker_open_max = 1s;
    BOOST_TEST(!validate(config).has_value());
    config = Config();
    config.peer_backoff_max = 100ms;
    BOOST_TEST(!validate(config).has_value());
}

BOOST_AUTO_TEST_CASE(values_that_would_stop_all_routing_are_refused) {
    for (auto member : {&Config::attempts_max, &Config::load_floor, &Config::retry_burst, &Config::spill_entries,
                        &Config::breaker_failures, &Config::prefix_choices, &Config::load_factor_percent}) {
        Config config;
        config.*member = 0;
        BOOST_TEST(!validate(config).has_value());
    }
}

BOOST_AUTO_TEST_SUITE_END()
