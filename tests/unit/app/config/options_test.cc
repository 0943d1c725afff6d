#include "app/config/options.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <set>
#include <string>

#include "app/config/config_file.h"

BOOST_AUTO_TEST_SUITE(config_options)

using namespace exa;
using namespace exa::app;
using namespace exa::app::config;

BOOST_AUTO_TEST_CASE(every_option_has_a_name_of_its_own_and_help_in_sentences) {
    std::set<std::string> names;
    for (const PeerOption& option : peer_options()) {
        BOOST_TEST(names.insert(option.name).second, option.name);
        BOOST_TEST(option.help.ends_with('.'), option.name);
        BOOST_TEST(describe(option).find(" Default: ") != std::string::npos, option.name);
    }
}

BOOST_AUTO_TEST_CASE(every_default_is_a_value_that_the_option_accepts) {
    for (const PeerOption& option : peer_options()) {
        PeerConfig config;
        const std::string text = option.get(config);
        // Empty: it is filled in later, or there is none.
        if (!text.empty()) BOOST_TEST(option.set(config, text) == "", option.name);
        BOOST_TEST(option.get(config) == text, option.name);
    }
}

BOOST_AUTO_TEST_CASE(a_unit_stands_at_the_end_of_the_name) {
    const std::map<std::string, std::string> endings = {{"microseconds", "_us"}, {"milliseconds", "_ms"},
                                                        {"seconds", "_seconds"}, {"hours", "_hours"},
                                                        {"MiB", "_mib"},         {"GiB", "_gib"},
                                                        {"bytes", "_bytes"},     {"MiB per second", "_mib_per_second"},
                                                        {"percent", "_percent"}, {"tokens", "_tokens"}};
    for (const PeerOption& option : peer_options())
        if (!option.unit.empty()) BOOST_TEST(option.name.ends_with(endings.at(option.unit)), option.name);
}

BOOST_AUTO_TEST_CASE(a_refused_value_changes_nothing) {
    PeerConfig config;
    BOOST_TEST(set_option(config, "model.replicas", "65").error().detail ==
               "model.replicas: '65' is not a whole number from 0 to 64");
    BOOST_TEST(config.model.replicas == 1U);
    BOOST_TEST(set_option(config, "model.replica", "1").error().detail == "unknown key 'model.replica'");
    BOOST_TEST(set_option(config, "seeds", "a:1,b").error().detail.starts_with("seeds: 'b' is not HOST:PORT"));
    for (const char* wrong : {"http://a:1", "a:1, b:2", "a:0", "a b:1"})
        BOOST_TEST(set_option(config, "seeds", wrong).error().detail.starts_with("seeds: '"), wrong);
    BOOST_TEST(config.seeds.empty());
}

BOOST_AUTO_TEST_CASE(help_tells_meaning_unit_range_and_default) {
    BOOST_TEST(describe(*find_option("kv.cold_readers")) ==
               "Segments that this peer reads from kv.cold_directory at the same time. Range: 1 to 64. Default: 4.");
    BOOST_TEST(describe(*find_option("membership.probe_interval_ms")) ==
               "Time from one probe of a peer to the next. Milliseconds, 10 to 60000. Default: 1000.");
    BOOST_TEST(describe(*find_option("listen.http")) == "TCP address to bind for clients. Default: 127.0.0.1:8000.");
}

BOOST_AUTO_TEST_SUITE_END()
