// Whole runs: the verdicts, determinism, and oracles that notice.
#include "sim/run/run.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>
#include <string>

#include "sim/report/outcome_json.h"
#include "sim/report/trace_file.h"
#include "support/print.h"

using namespace exa;
using namespace exa::sim;

namespace {

Scenario make(const std::string& text) {
    auto parsed = parse_scenario("test", text, {});
    BOOST_REQUIRE(parsed.has_value());
    return std::move(parsed).value();
}

Scenario built_in(std::string_view name) {
    const auto all = built_in_scenarios();
    const auto known = std::ranges::find(all, name, &BuiltIn::name);
    BOOST_TEST_REQUIRE((known != all.end()));
    return make(std::string(known->text));
}

std::string first_of(const Outcome& outcome) {
    if (!outcome.violations.empty()) return outcome.violations[0].check + ": " + outcome.violations[0].what;
    if (!outcome.liveness.empty()) return outcome.liveness;
    return outcome.without_effect.empty() ? "" : "without effect: " + outcome.without_effect[0];
}

const std::string small =
    "watch = ['M1', 'M2', 'M3', 'M4', 'M5', 'R1', 'B1', 'no-false-deaths']\nduration_s = 40\n"
    "[cluster]\npeers = 8\nreplicas = 2\n";

const std::string crash = "[[fault]]\nkind = 'crash'\nat_s = 10\ncount = 1\n";

std::vector<std::uint64_t> hashes(const Scenario& scenario, std::uint64_t seed) {
    std::vector<std::uint64_t> all;
    RunOptions options;
    options.seed = seed;
    options.listener = [&](const TraceEntry& entry) {
        all.push_back(entry.hash);
        return true;
    };
    run(scenario, options);
    return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(run_)

BOOST_AUTO_TEST_CASE(one_seed_is_one_history_and_another_seed_another) {
    const Scenario scenario = make(small + crash);
    const auto first = hashes(scenario, 1);
    BOOST_TEST(first.size() > 1000U);
    BOOST_TEST(first == hashes(scenario, 1), boost::test_tools::per_element());
    BOOST_TEST(first != hashes(scenario, 2));
}

BOOST_AUTO_TEST_CASE(a_crash_is_measured_and_passes) {
    const Outcome outcome = run(make(small + crash), {});
    BOOST_TEST(outcome.verdict == Verdict::pass);
    BOOST_TEST_REQUIRE(outcome.measured.detect_all.size() == 1U);
    BOOST_TEST(outcome.measured.detect_all[0] > 2.0);
    BOOST_TEST(outcome.measured.detect_all[0] < 10.0);
    BOOST_TEST(outcome.measured.false_deaths == 0U);
    BOOST_TEST(outcome.measured.ready_all.has_value());
    BOOST_TEST(outcome.faults.at("crash") == 1U);
}

BOOST_AUTO_TEST_CASE(a_bound_that_cannot_hold_is_an_invariant_violation) {
    const Outcome outcome = run(make(small + "[bounds]\ndetect_s = 0.01\n" + crash), {});
    BOOST_TEST(outcome.verdict == Verdict::invariant);
    BOOST_REQUIRE(!outcome.violations.empty());
    BOOST_TEST(outcome.violations[0].check == "M2");
    BOOST_TEST(outcome.violations[0].entry > 0U);
}

BOOST_AUTO_TEST_CASE(a_cluster_that_has_no_time_does_not_settle) {
    // Nobody can know within a second of a peer that fell silent as the liveness phase began.
    const std::string late = "[[fault]]\nkind = 'crash'\nat_s = 39.99\ncount = 1\n";
    const Outcome outcome = run(make(small + "[bounds]\nsettle_s = 1\n" + late), {});
    BOOST_TEST(outcome.verdict == Verdict::liveness);
    BOOST_TEST(!outcome.liveness.empty());
    BOOST_TEST(run(make(small + "[bounds]\nsettle_s = 20\n" + late), {}).verdict == Verdict::pass);
}

BOOST_AUTO_TEST_CASE(two_of_one_name_are_no_part_of_what_must_settle) {
    const std::string theft = "[[fault]]\nkind = 'name_steal'\nat_s = 39.7\ncount = 1\nfor_s = 60\n";
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        RunOptions options;
        options.seed = seed;
        const Outcome outcome = run(make(small + theft), options);
        BOOST_TEST(outcome.verdict == Verdict::pass, "seed " << seed << ": " << outcome.liveness);
    }
}

BOOST_AUTO_TEST_CASE(a_peer_that_leaves_under_long_answers_returns_after_it_has_left) {
    const std::string load = "[load]\nrate = 20\nfrom_s = 2\nanswer_tokens = 600\n";
    RunOptions options;
    std::vector<TraceEntry> boots;
    options.listener = [&](const TraceEntry& entry) {
        if (entry.kind == EventKind::boot) boots.push_back(entry);
        return true;
    };
    run(make(small + load + "[[fault]]\nkind = 'leave'\nat_s = 10\nfor_s = 0.1\nhosts = [3]\n"), options);
    BOOST_TEST_REQUIRE(boots.size() == 9U);
    BOOST_TEST(boots.back().host == 3U);
    // Answers take six seconds.
    BOOST_TEST(seconds_of(boots.back().at - WorldTime{}) > 11.0);
}

BOOST_AUTO_TEST_CASE(a_newcomer_that_is_its_own_only_seed_need_not_find_the_cluster) {
    // All others leave for good, then it starts on a new disk.
    const Outcome outcome =
        run(make(small + "[[fault]]\nkind = 'leave'\nat_s = 10\nhosts = [1, 2, 3, 4, 5, 6, 7]\n"
                         "[[fault]]\nkind = 'crash'\nat_s = 15\nfor_s = 5\nkeep_disk = false\nhosts = [0]\n"),
            {});
    BOOST_TEST(outcome.verdict == Verdict::pass, outcome.liveness);
}

BOOST_AUTO_TEST_CASE(a_core_settles_beside_what_stays_broken) {
    // Nothing passes between the two sides to the end, and a paused peer stays paused: each seed draws another core.
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        RunOptions options;
        options.seed = seed;
        const Outcome outcome =
            run(make(small + "[bounds]\nsettle_s = 40\n[[fault]]\nkind = 'cut'\nat_s = 10\nhosts = [0, "
                             "1, 2]\n[[fault]]\nkind = 'pause'\nat_s = 20\nhosts = [7]\n"),
                options);
        BOOST_TEST_CONTEXT("seed " << seed << ": " << outcome.liveness) {
            BOOST_TEST(outcome.verdict == Verdict::pass);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_fault_without_effect_is_a_failure) {
    const Outcome late = run(make(small + "[[fault]]\nkind = 'crash'\nat_s = 9999\ncount = 1\n"), {});
    BOOST_TEST(late.verdict == Verdict::no_effect);
    const Outcome missing = run(make("must_happen = ['busy']\n" + small), {});
    BOOST_TEST(missing.verdict == Verdict::no_effect);
}

BOOST_AUTO_TEST_CASE(requests_without_an_answer_leave_a_silent_host_in_time) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        RunOptions options;
        options.seed = seed;
        const Outcome outcome = run(built_in("silent-host"), options);
        BOOST_TEST(outcome.verdict == Verdict::pass, "seed " << seed << ": " << first_of(outcome));
        options.mutant = Mutant::links_decide;
        const Outcome patient = run(built_in("silent-host"), options);
        BOOST_TEST(patient.verdict == Verdict::invariant);
        BOOST_TEST(first_of(patient).starts_with("Q7: "), first_of(patient));
    }
}

BOOST_AUTO_TEST_CASE(a_missed_deadline_names_who_should_have_acted_and_what_it_waits_for) {
    std::vector<TraceEntry> entries;
    RunOptions options;
    options.listener = [&](const TraceEntry& entry) {
        entries.push_back(entry);
        return true;
    };
    const Outcome outcome = run(make(small + "[bounds]\ndetect_s = 0.01\n" + crash), options);
    BOOST_TEST_REQUIRE(!outcome.violations.empty());
    const Violation& late = outcome.violations[0];
    BOOST_TEST(late.what.find("which takes it for") != std::string::npos, late.what);
    BOOST_TEST_REQUIRE(late.entry > 0U);
    const std::string host = "one of them peer " + std::to_string(entries.at(late.entry - 1).host) + ",";
    BOOST_TEST(late.what.find(host) != std::string::npos, late.what);
}

BOOST_AUTO_TEST_CASE(every_request_ends_once_with_all_its_tokens) {
    const Outcome outcome = run(make("watch = ['Q1', 'Q4', 'Q6']\nduration_s = 30\n[cluster]\npeers = 6\nreplicas = 2\n"
                                     "[load]\nrate = 40\nfrom_s = 5\ndisconnects = 0.1\n" +
                                     crash),
                                {});
    BOOST_TEST(outcome.verdict == Verdict::pass);
    const TrafficCounters& traffic = outcome.traffic;
    BOOST_TEST(traffic.requests > 500U);
    BOOST_TEST(traffic.finished + traffic.rejected + traffic.broken + traffic.ingress_lost + traffic.abandoned +
                   traffic.client_errors ==
               traffic.requests);
    BOOST_TEST(traffic.finished > traffic.requests * 8 / 10);
    BOOST_TEST(traffic.abandoned > 0U);
}

BOOST_AUTO_TEST_CASE(overload_is_refused_by_the_receivers_and_passes) {
    const Outcome outcome =
        run(make("watch = ['Q1', 'Q4', 'Q6']\nmust_happen = ['busy']\nduration_s = 30\n[cluster]\n"
                 "peers = 4\nreplicas = 1\n[engine]\nin_flight_limit = 2\n[load]\nrate = 60\nfrom_s = 5\n"),
            {});
    BOOST_TEST(outcome.verdict == Verdict::pass);
    BOOST_TEST(outcome.traffic.rejected > 0U);
    BOOST_TEST(outcome.traffic.finished > 0U);
}

BOOST_AUTO_TEST_CASE(an_overload_that_leaves_places_lost_is_no_recovery) {
    const std::string overload =
        "watch = ['B2']\nmust_happen = ['busy', 'load']\nduration_s = 60\n[cluster]\npeers = 6\nreplicas = 2\n"
        "[engine]\nin_flight_limit = 4\n[load]\nrate = 20\nfrom_s = 5\nsdk_retries = 0\n[bounds]\nrecover_s = 2\n"
        "[[fault]]\nkind = 'load'\nat_s = 20\nfor_s = 15\nrate = 8\n";
    BOOST_TEST(run(make(overload), {}).verdict == Verdict::pass);
    RunOptions broken;
    broken.mutant = Mutant::permits_leak;
    const Outcome outcome = run(make(overload), broken);
    BOOST_TEST(outcome.verdict == Verdict::invariant);
    BOOST_REQUIRE(!outcome.violations.empty());
    BOOST_TEST(outcome.violations[0].check == "B2");
}

BOOST_AUTO_TEST_CASE(more_members_than_the_bound_are_noticed) {
    const Outcome outcome = run(make(small + "[bounds]\nmembers = 7\n"), {});
    BOOST_TEST(outcome.verdict == Verdict::invariant);
    BOOST_REQUIRE(!outcome.violations.empty());
    BOOST_TEST(outcome.violations[0].check == "B1");
    BOOST_TEST(outcome.measured.sizes.peers == 8U);
}

BOOST_AUTO_TEST_CASE(outsiders_change_nothing_and_are_checked) {
    const Outcome outcome = run(make("watch = ['S1', 'S2']\nmust_happen = ['stranger']\nduration_s = 30\n[cluster]\n"
                                     "peers = 5\nreplicas = 1\n"
                                     "[[fault]]\nkind = 'garbage'\nat_s = 5\nfor_s = 20\nrate = 50\n"
                                     "[[fault]]\nkind = 'oversize'\nat_s = 5\nfor_s = 20\nrate = 50\n"
                                     "[[fault]]\nkind = 'forge'\nat_s = 5\nfor_s = 20\nrate = 50\n"
                                     "[[fault]]\nkind = 'replay'\nat_s = 5\nfor_s = 20\nrate = 50\n"),
                                {});
    BOOST_TEST(outcome.verdict == Verdict::pass);
    BOOST_TEST(outcome.measured.strangers > 3000U);
}

BOOST_AUTO_TEST_CASE(an_encrypted_cluster_takes_no_replay_even_of_an_earlier_instance) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        RunOptions options;
        options.seed = seed;
        const Outcome outcome =
            run(make("watch = ['S1', 'S2']\nmust_happen = ['stranger']\nduration_s = 60\n[cluster]\npeers = 8\n"
                     "replicas = 1\nencrypted = true\n[[fault]]\nkind = 'replay'\nat_s = 5\nfor_s = 50\nrate = 200\n"
                     "[[fault]]\nkind = 'crash'\nat_s = 10\nevery_s = 12\ntimes = 3\nfor_s = 4\ncount = 2\n"),
                options);
        BOOST_TEST_CONTEXT("seed " << seed) {
            BOOST_TEST(outcome.verdict == Verdict::pass);
            BOOST_TEST(outcome.violation_count == 0U);
            BOOST_TEST(outcome.measured.strangers > 5000U);
        }
    }
}

BOOST_AUTO_TEST_CASE(mutants_have_names_and_scenarios) {
    std::set<std::string_view> names;
    for (const MutantInfo& info : mutants()) {
        BOOST_TEST(names.insert(info.name).second);
        BOOST_TEST(parse_mutant(info.name) == info.mutant);
        const auto all = built_in_scenarios();
        BOOST_TEST(std::ranges::count(all, info.scenario, &BuiltIn::name) == 1);
    }
    BOOST_TEST(names.size() >= 10U);
    BOOST_TEST(!parse_mutant("none").has_value());
}

BOOST_AUTO_TEST_CASE(percentiles_are_of_the_nearest_rank) {
    BOOST_TEST(percentile({}, 50) == 0.0);
    BOOST_TEST(percentile({3, 1, 2}, 50) == 2.0);
    BOOST_TEST(percentile({3, 1, 2}, 100) == 3.0);
    BOOST_TEST(percentile({3, 1, 2}, 1) == 1.0);
}

BOOST_AUTO_TEST_CASE(a_trace_file_that_is_none_is_named) {
    const auto opened = TraceReader::open("/nonexistent/trace");
    BOOST_REQUIRE(!opened.has_value());
    BOOST_TEST(opened.error().detail.find("/nonexistent/trace") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
