#include "sim/scenarios/scenario.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace exa;
using namespace exa::sim;

namespace {

Result<Scenario> parse(std::string_view text, std::vector<Setting> settings = {}) {
    return parse_scenario("test", text, settings);
}

std::string why(std::string_view text, std::vector<Setting> settings = {}) {
    const auto parsed = parse(text, std::move(settings));
    return parsed ? std::string() : parsed.error().detail;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(scenario)

BOOST_AUTO_TEST_CASE(every_built_in_scenario_parses_and_says_what_it_is) {
    BOOST_TEST(built_in_scenarios().size() > 20U);
    for (const BuiltIn& scenario : built_in_scenarios()) {
        const auto parsed = parse_scenario(scenario.name, scenario.text, {});
        BOOST_TEST_CONTEXT(scenario.name) {
            BOOST_REQUIRE(parsed.has_value());
            BOOST_TEST(!parsed.value().about.empty());
            BOOST_TEST(!parsed.value().watch.empty());
        }
    }
}

BOOST_AUTO_TEST_CASE(keys_are_read_with_their_units) {
    const auto parsed = parse(
        "duration_s = 2.5\n[cluster]\npeers = 9\n[net]\nloss = 0.25\n[[fault]]\nkind = 'pause'\nat_s = 1.5\nfor_s = 2\n"
        "count = 3\n");
    BOOST_REQUIRE(parsed.has_value());
    BOOST_TEST(parsed.value().duration.count() == 2'500'000);
    BOOST_TEST(parsed.value().cluster.peers == 9U);
    BOOST_TEST(parsed.value().cluster.net.loss == 0.25);
    BOOST_TEST_REQUIRE(parsed.value().plan.size() == 1U);
    BOOST_TEST(parsed.value().plan[0].kind == FaultKind::pause);
    BOOST_TEST(parsed.value().plan[0].at.count() == 1'500'000);
    BOOST_TEST(parsed.value().plan[0].count == 3U);
}

BOOST_AUTO_TEST_CASE(a_setting_replaces_and_changes_the_hash) {
    const std::string_view text = "[[fault]]\nkind = 'crash'\ncount = 1\n";
    const auto plain = parse(text);
    const auto set = parse(text, {{"fault.0.count", "5"}, {"net.loss", "0.5"}});
    BOOST_REQUIRE(plain.has_value());
    BOOST_REQUIRE(set.has_value());
    BOOST_TEST(set.value().plan[0].count == 5U);
    BOOST_TEST(set.value().cluster.net.loss == 0.5);
    BOOST_TEST(set.value().hash != plain.value().hash);
    BOOST_TEST(parse(text).value().hash == plain.value().hash);
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_named) {
    BOOST_TEST(why("nonsense = 1").find("'nonsense'") != std::string::npos);
    BOOST_TEST(why("[net]\nlos = 1").find("'net.los', did you mean 'loss'?") != std::string::npos);
    BOOST_TEST(why("[[fault]]\nkind = 'crsh'").find("did you mean 'crash'?") != std::string::npos);
    BOOST_TEST(why("[membership]\nload_gosip_interval_ms = 1").find("'load_gossip_interval_ms'") != std::string::npos);
    BOOST_TEST(why("[net]\nloss = 1.5").find("net.loss") != std::string::npos);
    BOOST_TEST(why("[[fault]]\nkind = 'explode'").find("fault.0.kind") != std::string::npos);
    BOOST_TEST(why("watch = ['M9']").find("watch") != std::string::npos);
    BOOST_TEST(why("must_happen = ['crash', 'detectoin']").find("did you mean 'detection'?") != std::string::npos);
    BOOST_TEST(why("[[fault]]\nkind = 'crash'\ntimes = 2").find("every_s") != std::string::npos);
    BOOST_TEST(why("[membership]\nprobe_interval_ms = 1").find("probe_interval") != std::string::npos);
    BOOST_TEST(why("a = [").find("test:1") != std::string::npos);
    BOOST_TEST(why("", {{"fault.0.count", "5"}}).find("fault") != std::string::npos);
    BOOST_TEST(why("[[fault]]\nkind = 'crash'", {{"fault.3.count", "5"}}).find("entry 3") != std::string::npos);
    BOOST_TEST(why("", {{"net..loss", "5"}}).find("no key") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
