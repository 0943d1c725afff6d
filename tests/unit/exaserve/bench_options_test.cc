#include "exaserve/bench_options.h"

#include <boost/test/unit_test.hpp>
#include <initializer_list>

#include "exaserve/arguments.h"
#include "exaserve/exit_code.h"
#include "support/print.h"

namespace {

using namespace exa;
using namespace exa::cli;
using namespace std::chrono_literals;

std::variant<Command, NoCommand> parse(std::initializer_list<const char*> arguments) {
    std::vector<const char*> argv = {"exaserve", "bench"};
    argv.insert(argv.end(), arguments);
    return parse_arguments(static_cast<int>(argv.size()), argv.data());
}

BenchOptions parsed(std::initializer_list<const char*> arguments) {
    const auto result = parse(arguments);
    BOOST_TEST_REQUIRE(std::holds_alternative<Command>(result));
    return std::get<BenchOptions>(std::get<Command>(result));
}

loadgen::Config completed(std::initializer_list<const char*> arguments) {
    const auto config = complete_config(parsed(arguments));
    BOOST_TEST_REQUIRE(config.has_value());
    return config.value();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(bench_options)

BOOST_AUTO_TEST_CASE(without_flags_it_is_a_closed_loop_of_half_a_minute) {
    const auto config = completed({});
    BOOST_TEST(config.arrivals == loadgen::ArrivalKind::closed);
    BOOST_TEST(config.concurrency == 16u);
    BOOST_TEST(config.duration == 30s);
    BOOST_TEST(config.warmup == 3s);
    BOOST_TEST(config.stream);
}

BOOST_AUTO_TEST_CASE(a_rate_makes_an_open_loop_and_a_trace_another) {
    BOOST_TEST(completed({"--rate", "5"}).arrivals == loadgen::ArrivalKind::poisson);
    BOOST_TEST(completed({"--rate", "5", "--fixed"}).arrivals == loadgen::ArrivalKind::fixed);
    const auto config = completed({"--trace", "f.csv", "--trace-speed", "3"});
    BOOST_TEST(config.arrivals == loadgen::ArrivalKind::trace);
    BOOST_TEST(config.trace_speed == 3);
    BOOST_TEST(config.duration > 24h);
    BOOST_TEST(config.warmup == 0s);
}

BOOST_AUTO_TEST_CASE(every_flag_reaches_its_value) {
    const auto options = parsed({"chaos",
                                 "--target",
                                 "http://a",
                                 "--target",
                                 "http://b",
                                 "--no-stream",
                                 "--api",
                                 "completions",
                                 "--turns",
                                 "uniform:2:3",
                                 "--think",
                                 "1.5",
                                 "--session-ids",
                                 "server",
                                 "--spread",
                                 "random",
                                 "--move",
                                 "--slo-ttft-ms",
                                 "500",
                                 "--slo-share",
                                 "95",
                                 "--idle-timeout",
                                 "0.5",
                                 "--body",
                                 "{\"temperature\": 0, \"user\": \"u\"}",
                                 "--header",
                                 "a: b",
                                 "--header",
                                 "c:d",
                                 "--kill-command",
                                 "true",
                                 "--kill-every",
                                 "7"});
    BOOST_TEST(options.preset == BenchPreset::chaos);
    BOOST_TEST(options.targets == (std::vector<std::string>{"http://a", "http://b"}), boost::test_tools::per_element());
    const auto& config = options.config;
    BOOST_TEST(!config.stream);
    BOOST_TEST(config.api == loadgen::Api::completions);
    BOOST_TEST(config.turns->to_string() == "uniform:2:3");
    BOOST_TEST(config.think_seconds.to_string() == "1.5");
    BOOST_TEST(config.session_ids == loadgen::SessionIds::server);
    BOOST_TEST(config.spread == loadgen::Spread::random);
    BOOST_TEST(config.moves);
    BOOST_TEST(config.slo.ttft == 500ms);
    BOOST_TEST(config.slo.share == 0.95);
    BOOST_TEST(config.timeouts.idle == 500ms);
    BOOST_TEST(config.extra_fields == R"("temperature":0,"user":"u")");
    BOOST_TEST_REQUIRE(options.headers.size() == 2u);
    BOOST_TEST(options.headers[0] == (std::pair<std::string, std::string>{"a", "b"}));
    BOOST_TEST(options.headers[1] == (std::pair<std::string, std::string>{"c", "d"}));
    BOOST_TEST(options.kill_every_s == 7);
}

BOOST_AUTO_TEST_CASE(nonsense_is_a_usage_error) {
    for (const auto& arguments : std::initializer_list<std::initializer_list<const char*>>{{"dance"},
                                                                                           {"--turns", "many"},
                                                                                           {"--body", "[]"},
                                                                                           {"--body", "{"},
                                                                                           {"--header", "nothing"},
                                                                                           {"--header", "a: b\r\nc: d"},
                                                                                           {"--api", "responses"},
                                                                                           {"--factor", "1"},
                                                                                           {"--trace-speed", "2"},
                                                                                           {"--kill-every", "5"},
                                                                                           {"--idle-timeout", "-1"}}) {
        const auto result = parse(arguments);
        BOOST_TEST_REQUIRE(std::holds_alternative<NoCommand>(result));
        BOOST_TEST(std::get<NoCommand>(result).exit_code == exit_usage);
    }
}

BOOST_AUTO_TEST_CASE(flags_that_contradict_one_another_are_refused) {
    for (const auto& arguments :
         std::initializer_list<std::initializer_list<const char*>>{{"--trace", "f", "--rate", "3"},
                                                                   {"ramp-to-collapse", "--trace", "f"},
                                                                   {"ramp-to-collapse", "--duration", "3"},
                                                                   {"ramp-to-collapse", "--requests", "3"},
                                                                   {"--kill-command", "true"},
                                                                   {"chaos"},
                                                                   {"--rate", "0"},
                                                                   {"--concurrency", "0"},
                                                                   {"--rate", "3", "--concurrency", "4"},
                                                                   {"--concurrency", "16", "--trace", "f"},
                                                                   {"ramp-to-collapse", "--concurrency", "4"},
                                                                   {"--in-flight-max", "5"},
                                                                   {"--connections", "5"},
                                                                   {"--fixed"},
                                                                   {"--factor", "2", "--rate", "3"},
                                                                   {"--slo-share", "101"},
                                                                   {"--step", "0"}})
        BOOST_TEST(!complete_config(parsed(arguments)).has_value());
}

BOOST_AUTO_TEST_CASE(presets_bring_their_own_times) {
    BOOST_TEST(completed({"chaos", "--kill-command", "true"}).duration == 300s);
    const auto ramp = completed({"ramp-to-collapse"});
    BOOST_TEST(ramp.arrivals == loadgen::ArrivalKind::poisson);
    BOOST_TEST(ramp.rate == 1);
    BOOST_TEST(completed({"--requests", "5"}).warmup == 0s);
}

BOOST_AUTO_TEST_SUITE_END()
