// What must hold of every rendezvous choice: R2 (bounded movement) and R3 (copies on distinct racks when possible).
#include <rapidcheck.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>

#include "base/rng.h"
#include "ring/rendezvous.h"

using exa::Rng;
using exa::ring::choose_owners;
using exa::ring::RendezvousCandidate;

namespace {

// 1 to 30 candidates of distinct ids on 1 to 6 racks; weights 1 to 4.
std::vector<RendezvousCandidate> draw_candidates() {
    const auto count = *rc::gen::inRange<std::size_t>(1, 31);
    const auto racks = *rc::gen::inRange<std::uint64_t>(1, 7);
    Rng rng(*rc::gen::arbitrary<std::uint64_t>());
    std::vector<RendezvousCandidate> candidates;
    for (std::size_t i = 0; i < count; ++i)
        candidates.push_back({rng.next(), static_cast<std::uint32_t>(rng.below(4) + 1), rng.below(racks)});
    return candidates;
}

std::vector<std::uint64_t> owner_ids(std::uint64_t key, const std::vector<RendezvousCandidate>& candidates,
                                     std::size_t copies) {
    std::vector<std::uint64_t> ids;
    for (const std::uint32_t owner : choose_owners(key, candidates, copies)) ids.push_back(candidates[owner].id);
    return ids;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(rendezvous_property)

BOOST_AUTO_TEST_CASE(the_order_of_candidates_does_not_matter) {
    BOOST_TEST(rc::check([] {
        auto candidates = draw_candidates();
        const auto key = *rc::gen::arbitrary<std::uint64_t>();
        const auto copies = *rc::gen::inRange<std::size_t>(1, 6);
        const auto owners = owner_ids(key, candidates, copies);
        Rng rng(*rc::gen::arbitrary<std::uint64_t>());
        rng.shuffle(std::span(candidates));
        RC_ASSERT(owner_ids(key, candidates, copies) == owners);
    }));
}

BOOST_AUTO_TEST_CASE(owners_are_distinct_and_cover_as_many_racks_as_they_can) {
    BOOST_TEST(rc::check([] {
        const auto candidates = draw_candidates();
        const auto copies = *rc::gen::inRange<std::size_t>(1, 6);
        const auto owners = choose_owners(*rc::gen::arbitrary<std::uint64_t>(), candidates, copies);
        RC_ASSERT(owners.size() == std::min(copies, candidates.size()));
        std::set<std::uint64_t> all_racks;
        std::set<std::uint64_t> owner_racks;
        for (const RendezvousCandidate& candidate : candidates) all_racks.insert(candidate.rack);
        for (const std::uint32_t owner : owners) owner_racks.insert(candidates[owner].rack);
        RC_ASSERT(std::set<std::uint32_t>(owners.begin(), owners.end()).size() == owners.size());
        RC_ASSERT(owner_racks.size() == std::min(copies, all_racks.size()));
    }));
}

BOOST_AUTO_TEST_CASE(a_new_candidate_takes_a_place_or_moves_nothing) {
    BOOST_TEST(rc::check([] {
        auto candidates = draw_candidates();
        const auto key = *rc::gen::arbitrary<std::uint64_t>();
        const auto before = owner_ids(key, candidates, 1);
        const std::uint64_t added = *rc::gen::arbitrary<std::uint64_t>();
        candidates.push_back({added, 2, 0});
        const auto after = owner_ids(key, candidates, 1);
        RC_ASSERT(after == before || after.front() == added);
    }));
}

BOOST_AUTO_TEST_CASE(a_heavier_candidate_never_loses_a_key) {
    BOOST_TEST(rc::check([] {
        auto candidates = draw_candidates();
        const auto key = *rc::gen::arbitrary<std::uint64_t>();
        const auto owner = choose_owners(key, candidates, 1).front();
        candidates[owner].weight += *rc::gen::inRange<std::uint32_t>(1, 100);
        RC_ASSERT(choose_owners(key, candidates, 1).front() == owner);
    }));
}

BOOST_AUTO_TEST_SUITE_END()
