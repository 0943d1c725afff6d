#include "app/config/live_config.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <fstream>
#include <string>

#include "app/config/config_json.h"
#include "support/print.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::config;

namespace {

struct Fixture {
    Fixture() : path(std::tmpnam(nullptr)) { write("rack = 'r1'\n[router]\nqueue_wait_ms = 100\n"); }
    ~Fixture() { std::remove(path.c_str()); }

    void write(const std::string& text) const { std::ofstream(path) << text; }

    ConfigInputs inputs() const { return {path, {{"drain_seconds", "30"}}, {"node7", "/state", "/cache"}}; }

    std::string path;
    NullLog log;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(live_config, Fixture)

BOOST_AUTO_TEST_CASE(live_options_change_and_the_others_are_named_and_stay) {
    LiveConfig live(inputs(), effective_config(inputs()).value());
    std::uint32_t applied = 0;
    live.on_change([&](const PeerConfig& config) {
        ++applied;
        BOOST_TEST(config.router.queue_wait == std::chrono::milliseconds(250));
        BOOST_TEST(config.rack == "r1");
    });
    write("rack = 'r2'\n[router]\nqueue_wait_ms = 250\n[log]\nlevel = 'debug'\n");
    const ReloadReport report = live.reload(log).value();
    BOOST_TEST_REQUIRE(report.changed.size() == 2U);
    BOOST_TEST(report.changed[0].name == "log.level");
    BOOST_TEST(report.changed[1].name == "router.queue_wait_ms");
    BOOST_TEST(report.changed[1].before == "100");
    BOOST_TEST(report.changed[1].after == "250");
    BOOST_TEST_REQUIRE(report.needs_restart.size() == 1U);
    BOOST_TEST(report.needs_restart[0].name == "rack");
    BOOST_TEST(report.needs_restart[0].after == "r2");
    BOOST_TEST(applied == 1U);
    BOOST_TEST(live.now().values.rack == "r1");
    BOOST_TEST(live.now().values.log.level == LogLevel::debug);
}

BOOST_AUTO_TEST_CASE(a_bad_file_changes_nothing_and_says_why) {
    LiveConfig live(inputs(), effective_config(inputs()).value());
    live.on_change([](const PeerConfig&) { BOOST_ERROR("applied"); });
    for (const char* text :
         {"[log]\nlevel = 'debug'\n[router]\nqueue_wait_ms = -1\n", "[log]\nlevel = 'debug'\n[",
          "[log]\nlevel = 'debug'\n[router]\nbreaker_open_ms = 60000\nbreaker_open_max_ms = 2000\n"}) {
        write(text);
        BOOST_TEST(live.reload(log).has_error());
        BOOST_TEST(live.now().values.log.level == LogLevel::info);
    }
    write("[router]\nqueue_wait_ms = -1\n");
    BOOST_TEST(live.reload(log).error().detail ==
               path + ":2: router.queue_wait_ms: '-1' is not a whole number from 0 to 100000");
}

BOOST_AUTO_TEST_CASE(flags_of_the_start_override_the_file_that_is_reloaded) {
    LiveConfig live(inputs(), effective_config(inputs()).value());
    write("drain_seconds = 5\nrack = 'r1'\n[router]\nqueue_wait_ms = 100\n");
    const ReloadReport report = live.reload(log).value();
    BOOST_TEST(report.changed.empty());
    BOOST_TEST(report.needs_restart.empty());
    BOOST_TEST(live.now().values.drain_time == std::chrono::seconds(30));
}

BOOST_AUTO_TEST_CASE(operators_see_values_and_where_they_come_from) {
    const LiveConfig live(inputs(), effective_config(inputs()).value());
    const boost::json::value shown = config_json(live.now(), live.inputs());
    BOOST_TEST(shown.at("file").as_string() == path);
    const auto row = [&](std::string_view name) -> const boost::json::object& {
        for (const auto& option : shown.at("options").as_array())
            if (option.at("name").as_string() == name) return option.as_object();
        BOOST_FAIL("no such option");
        std::abort();
    };
    BOOST_TEST(boost::json::serialize(row("drain_seconds")) ==
               R"({"name":"drain_seconds","value":"30","source":"flag","default":"60","live":true})");
    BOOST_TEST(row("rack").at("source").as_string() == "file");
    BOOST_TEST(row("data_dir").at("source").as_string() == "environment");
    BOOST_TEST(row("listen.http").at("value").as_string() == "127.0.0.1:8000");
    BOOST_TEST(!row("listen.http").at("live").as_bool());
}

BOOST_AUTO_TEST_SUITE_END()
