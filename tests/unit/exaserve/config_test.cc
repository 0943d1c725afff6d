#include "exaserve/config.h"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include "app/config/options.h"

using namespace exa::cli;

BOOST_AUTO_TEST_SUITE(config_command)

BOOST_AUTO_TEST_CASE(options_are_listed_without_a_peer) {
    ConfigOptions options;
    options.action = ConfigAction::options;
    const std::string table = ask(options, Style::plain).value();
    for (const auto& option : exa::app::config::peer_options())
        BOOST_TEST(table.find(option.name) != std::string::npos, option.name);
    options.target.json = true;
    const auto listed = boost::json::parse(ask(options, Style::plain).value());
    BOOST_TEST(listed.at("options").as_array().size() == exa::app::config::peer_options().size());
}

BOOST_AUTO_TEST_SUITE_END()
