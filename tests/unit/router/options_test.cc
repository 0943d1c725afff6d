#include "router/options.h"

#include <boost/test/unit_test.hpp>

using namespace exa;
using namespace exa::router;

BOOST_AUTO_TEST_SUITE(options)

BOOST_AUTO_TEST_CASE(every_option_reads_back_what_it_was_set_to) {
    for (const Option<Config>& option : router::options()) {
        Config config;
        const std::string least = option.range.substr(0, option.range.find(' '));
        BOOST_TEST(option.set(config, least) == "", option.name);
        BOOST_TEST(option.get(config) == least, option.name);
    }
}

BOOST_AUTO_TEST_CASE(no_value_above_its_range_passes) {
    for (const Option<Config>& option : router::options()) {
        Config config;
        const std::string most = option.range.substr(option.range.rfind(' ') + 1);
        BOOST_TEST(option.set(config, most) == "", option.name);
        BOOST_TEST(option.set(config, most + "0").starts_with("'" + most + "0' is not "), option.name);
        BOOST_TEST(option.get(config) == most, option.name);
    }
}

BOOST_AUTO_TEST_SUITE_END()
