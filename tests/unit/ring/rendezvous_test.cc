#include "ring/rendezvous.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>

#include "base/rng.h"
#include "support/print.h"

using exa::Rng;
using exa::ring::choose_owners;
using exa::ring::RendezvousCandidate;

namespace {

std::vector<RendezvousCandidate> some_candidates(std::uint64_t count, std::uint64_t racks) {
    std::vector<RendezvousCandidate> candidates;
    for (std::uint64_t i = 0; i < count; ++i) candidates.push_back({i + 1, 1, i % racks + 1});
    return candidates;
}

std::vector<std::uint64_t> ids_of(const std::vector<std::uint32_t>& owners,
                                  const std::vector<RendezvousCandidate>& candidates) {
    std::vector<std::uint64_t> ids;
    for (const std::uint32_t owner : owners) ids.push_back(candidates[owner].id);
    return ids;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(rendezvous)

// These values place KV segments on a running cluster: if one changes, keys move.
BOOST_AUTO_TEST_CASE(logarithms_and_owners_are_the_wire_contract) {
    BOOST_TEST(exa::ring::log2_q32(1) == 0u);
    BOOST_TEST(exa::ring::log2_q32(3) == 6807362105u);  // 2^32 x 1.5849625..., as any calculator has it
    BOOST_TEST(exa::ring::log2_q32(std::uint64_t{1} << 63) == std::uint64_t{63} << 32);
    BOOST_TEST(exa::ring::log2_q32(~std::uint64_t{0}) == 274877906943u);
    auto candidates = some_candidates(16, 4);
    candidates[3].weight = 5;
    BOOST_TEST(ids_of(choose_owners(0x0123456789abcdef, candidates, 4), candidates) ==
                   (std::vector<std::uint64_t>{4, 14, 5, 3}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(logarithm_is_monotone_and_right_to_a_four_millionth) {
    Rng rng(1);
    std::vector<std::uint64_t> values{1, 2, 3, ~std::uint64_t{0}};
    for (int i = 0; i < 20'000; ++i) values.push_back(std::max<std::uint64_t>(rng.next() >> rng.below(64), 1));
    std::ranges::sort(values);
    std::uint64_t before = 0;
    for (const std::uint64_t value : values) {
        const std::uint64_t log = exa::ring::log2_q32(value);
        BOOST_TEST(log >= before);
        BOOST_TEST(std::abs(static_cast<double>(log) * 0x1.0p-32 - std::log2(static_cast<double>(value))) < 0x1.0p-22);
        before = log;
    }
}

BOOST_AUTO_TEST_CASE(copies_stand_on_distinct_racks_when_there_are_that_many) {
    const auto candidates = some_candidates(30, 3);
    for (std::uint64_t key = 0; key < 500; ++key) {
        const auto owners = choose_owners(key, candidates, 3);
        std::set<std::uint64_t> racks;
        for (const std::uint32_t owner : owners) racks.insert(candidates[owner].rack);
        BOOST_TEST(racks.size() == 3u);
    }
}

BOOST_AUTO_TEST_CASE(with_too_few_racks_copies_still_stand_on_distinct_candidates) {
    const auto candidates = some_candidates(5, 2);
    for (std::uint64_t key = 0; key < 200; ++key) {
        auto owners = choose_owners(key, candidates, 4);
        BOOST_TEST(owners.size() == 4u);
        BOOST_TEST(candidates[owners[0]].rack != candidates[owners[1]].rack);
        std::ranges::sort(owners);
        BOOST_TEST(std::ranges::adjacent_find(owners) == owners.end());
    }
    BOOST_TEST(choose_owners(1, candidates, 9).size() == 5u);
    BOOST_TEST(choose_owners(1, {}, 2).empty());
}

BOOST_AUTO_TEST_CASE(keys_spread_in_proportion_to_weight) {
    auto candidates = some_candidates(10, 10);
    candidates[4].weight = 6;  // of 15
    std::vector<int> hits(candidates.size(), 0);
    for (std::uint64_t key = 0; key < 30'000; ++key) ++hits[choose_owners(key, candidates, 1)[0]];
    for (std::size_t i = 0; i < hits.size(); ++i) {
        const int expected = i == 4 ? 12'000 : 2'000;
        BOOST_TEST(std::abs(hits[i] - expected) < expected / 10);
    }
}

BOOST_AUTO_TEST_CASE(weight_zero_is_never_chosen) {
    auto candidates = some_candidates(4, 4);
    candidates[2].weight = 0;
    for (std::uint64_t key = 0; key < 200; ++key) {
        const auto owners = choose_owners(key, candidates, 4);
        BOOST_TEST(owners.size() == 3u);
        BOOST_TEST(std::ranges::find(owners, 2u) == owners.end());
    }
}

BOOST_AUTO_TEST_CASE(a_loser_that_leaves_moves_nothing) {
    const auto candidates = some_candidates(12, 4);
    for (std::uint64_t key = 0; key < 300; ++key) {
        const auto owners = choose_owners(key, candidates, 2);
        for (std::uint32_t gone = 0; gone < candidates.size(); ++gone) {
            if (std::ranges::find(owners, gone) != owners.end()) continue;
            auto rest = candidates;
            rest.erase(rest.begin() + gone);
            BOOST_TEST(ids_of(choose_owners(key, rest, 2), rest) == ids_of(owners, candidates),
                       boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
