#include "membership/digest_comparison.h"

#include <boost/test/unit_test.hpp>

#include "parts.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using namespace exa::membership::samples;
using wire::MemberState;
using wire::Pull;

namespace {

struct Outcome {
    std::vector<wire::Fact> facts;
    std::vector<Pull> lacking;
    std::vector<Pull> pulls;
};

wire::Sync digest_of(std::vector<wire::DigestEntry> entries) {
    wire::Sync sync;
    sync.header.sender = PeerId{101};
    sync.kind = wire::SyncKind::digest;
    sync.last = PeerId{~std::uint64_t{0}};
    sync.digest = std::move(entries);
    return sync;
}

Outcome compare(Bench& bench, const wire::Sync& digest) {
    DigestComparison comparison(bench.roster, digest);
    Outcome outcome;
    while (const auto fact = comparison.next(bench.step())) outcome.facts.push_back(*fact);
    outcome.lacking = comparison.lacking();
    outcome.pulls = comparison.take_pulls();
    return outcome;
}

// Ours of everybody, as a digest.
std::vector<wire::DigestEntry> entries_of(const Roster& roster) {
    std::vector<wire::DigestEntry> entries;
    for (std::size_t i = 0; i < roster.size(); ++i) entries.push_back(roster.digest(roster.peer(i)));
    return entries;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(digest_comparison)

BOOST_AUTO_TEST_CASE(two_that_know_the_same_have_nothing_to_tell_each_other) {
    Bench bench(4);
    const Outcome outcome = compare(bench, digest_of(entries_of(bench.roster)));
    BOOST_TEST(outcome.facts.empty());
    BOOST_TEST(outcome.lacking.empty());
    BOOST_TEST(outcome.pulls.empty());
}

BOOST_AUTO_TEST_CASE(peers_that_one_side_knows_are_pulled_or_given) {
    Bench bench(3);
    auto entries = entries_of(bench.roster);
    std::erase_if(entries, [](const auto& entry) { return entry.peer == PeerId{102}; });
    entries.push_back({PeerId{200}, Generation{4}, {}, MemberState::alive, 6});
    const Outcome outcome = compare(bench, digest_of(entries));
    BOOST_TEST(outcome.lacking == (std::vector{Pull{PeerId{102}, {}, 0}}));
    BOOST_TEST(outcome.pulls == (std::vector{Pull{PeerId{200}, {}, 0}}));
    BOOST_TEST(outcome.facts.empty());
}

BOOST_AUTO_TEST_CASE(newer_versions_and_generations_go_to_the_side_that_lacks_them) {
    Bench bench(4);
    bench.roster.apply(start, whole(103, 5));
    auto entries = entries_of(bench.roster);
    entries[2].version = 9;                 // 102: theirs is newer
    entries[3].generation = Generation{4};  // 103: ours is newer
    entries[4].generation = Generation{2};  // 104: theirs is newer
    const Outcome outcome = compare(bench, digest_of(entries));
    BOOST_TEST(outcome.pulls == (std::vector{Pull{PeerId{102}, Generation{1}, 1}, Pull{PeerId{104}, {}, 0}}));
    BOOST_TEST(outcome.lacking == (std::vector{Pull{PeerId{103}, {}, 0}}));
}

BOOST_AUTO_TEST_CASE(another_opinion_of_a_peers_liveness_is_to_be_merged) {
    Bench bench(3);
    auto entries = entries_of(bench.roster);
    entries[1].state = MemberState::dead;
    const Outcome worse = compare(bench, digest_of(entries));
    BOOST_TEST_REQUIRE(worse.facts.size() == 1U);
    BOOST_TEST(worse.facts[0] == (wire::Fact{PeerId{101}, Generation{1}, {}, MemberState::dead, PeerId{}}));
    BOOST_TEST(worse.lacking.empty());
    // Ours is the later state: the other side is told.
    bench.set_liveness(102, Liveness::suspect);
    const Outcome better = compare(bench, digest_of(entries_of(roster(3))));
    BOOST_TEST(better.lacking == (std::vector{Pull{PeerId{102}, Generation{1}, 1}}));
}

BOOST_AUTO_TEST_CASE(a_suspicion_that_both_have_is_merged_again_since_it_counts_another_accuser) {
    Bench bench(2);
    bench.set_liveness(101, Liveness::suspect);
    BOOST_TEST(compare(bench, digest_of(entries_of(bench.roster))).facts.size() == 1U);
}

BOOST_AUTO_TEST_CASE(only_the_range_of_the_digest_is_compared) {
    Bench bench(4);
    wire::Sync digest = digest_of({});
    digest.first = PeerId{102};
    digest.last = PeerId{103};
    const Outcome outcome = compare(bench, digest);
    BOOST_TEST(outcome.lacking == (std::vector{Pull{PeerId{102}, {}, 0}, Pull{PeerId{103}, {}, 0}}));
}

BOOST_AUTO_TEST_CASE(a_roster_that_changes_between_two_facts_does_not_break_the_comparison) {
    Bench bench(6);
    auto entries = entries_of(bench.roster);
    for (auto& entry : entries)
        if (entry.peer != me) entry.state = MemberState::left;
    const wire::Sync digest = digest_of(entries);
    DigestComparison comparison(bench.roster, digest);
    std::size_t facts = 0;
    while (const auto fact = comparison.next(bench.step())) {
        ++facts;
        bench.roster.forget(fact->subject);
    }
    BOOST_TEST(facts >= 3U);
}

BOOST_AUTO_TEST_SUITE_END()
