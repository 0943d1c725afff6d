// R2 and R3 hold for what we have, and are seen to break where hashing is naive.
#include "sim/checks/placement.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <numeric>

using namespace exa;
using namespace exa::sim;

namespace {

constexpr std::size_t samples = 500;

std::vector<ring::RingMember> members(std::uint64_t first, std::uint64_t last) {
    std::vector<ring::RingMember> all;
    for (std::uint64_t peer = first; peer < last; ++peer) all.push_back({{PeerId{peer}, DeploymentId{7}, 0}, 1});
    return all;
}

// A position belongs to whoever it is modulo their number: what consistent hashing is there to avoid.
RingSide modulo(const std::vector<ring::RingMember>& members) {
    return {members,
            [&members](std::uint64_t position) { return static_cast<std::uint32_t>(position % members.size()); }};
}

std::vector<ring::RendezvousCandidate> candidates(std::size_t peers, std::size_t racks) {
    std::vector<ring::RendezvousCandidate> all;
    for (std::size_t i = 0; i < peers; ++i) all.push_back({i + 1, 1, 1 + i % racks});
    return all;
}

std::string why(std::span<const ring::RendezvousCandidate> of, const ChooseOwners& choose) {
    Rng rng(1);
    return misplaced_copies(of, 2, choose, rng, samples).value_or("");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(placement)

BOOST_AUTO_TEST_CASE(a_ring_moves_only_what_came_or_went) {
    Rng rng(1);
    const ring::Ring twenty = ring::Ring(members(1, 21));
    const ring::Ring fewer = ring::Ring(members(1, 20));
    const ring::Ring other = ring::Ring(members(4, 24));
    BOOST_TEST(!needless_move(side_of(twenty), side_of(fewer), rng, samples).has_value());
    BOOST_TEST(!needless_move(side_of(fewer), side_of(twenty), rng, samples).has_value());
    BOOST_TEST(!needless_move(side_of(twenty), side_of(other), rng, samples).has_value());
    BOOST_TEST(!needless_move(side_of(twenty), side_of(ring::Ring()), rng, samples).has_value());
}

BOOST_AUTO_TEST_CASE(hashing_modulo_the_number_of_replicas_is_noticed) {
    Rng rng(1);
    const auto before = members(1, 21);
    const auto after = members(1, 20);
    BOOST_TEST(needless_move(modulo(before), modulo(after), rng, samples).has_value());
    BOOST_TEST(!needless_move(modulo(before), modulo(before), rng, samples).has_value());
}

BOOST_AUTO_TEST_CASE(a_changed_weight_may_move_what_it_is_about_and_nothing_else) {
    Rng rng(1);
    auto heavier = members(1, 21);
    heavier[3].weight = 2;
    const ring::Ring before = ring::Ring(members(1, 21));
    BOOST_TEST(!needless_move(side_of(before), side_of(ring::Ring(heavier)), rng, samples).has_value());
}

BOOST_AUTO_TEST_CASE(rendezvous_owners_are_on_distinct_racks_and_stay) {
    for (const std::size_t racks : {1U, 2U, 5U}) BOOST_TEST(why(candidates(20, racks), ring::choose_owners).empty());
    BOOST_TEST(why(candidates(1, 1), ring::choose_owners).empty());
    BOOST_TEST(why({}, ring::choose_owners).empty());
}

BOOST_AUTO_TEST_CASE(copies_on_one_rack_are_noticed) {
    const ChooseOwners rackless = [](std::uint64_t key, std::span<const ring::RendezvousCandidate> of,
                                     std::size_t copies) {
        std::vector<ring::RendezvousCandidate> flat(of.begin(), of.end());
        for (auto& one : flat) one.rack = 0;
        return ring::choose_owners(key, flat, copies);
    };
    BOOST_TEST(why(candidates(20, 5), rackless).find("racks") != std::string::npos);
    BOOST_TEST(why(candidates(20, 1), rackless).empty());
}

BOOST_AUTO_TEST_CASE(too_few_copies_the_order_and_a_bystander_are_noticed) {
    const ChooseOwners one = [](std::uint64_t key, std::span<const ring::RendezvousCandidate> of, std::size_t) {
        return ring::choose_owners(key, of, 1);
    };
    BOOST_TEST(why(candidates(20, 1), one).find("1 owners") != std::string::npos);
    const ChooseOwners first = [](std::uint64_t, std::span<const ring::RendezvousCandidate>, std::size_t) {
        return std::vector<std::uint32_t>{0, 1};
    };
    BOOST_TEST(why(candidates(20, 1), first).find("order") != std::string::npos);
    const ChooseOwners modulo = [](std::uint64_t key, std::span<const ring::RendezvousCandidate> of, std::size_t) {
        std::vector<std::uint32_t> by_id(of.size());
        std::iota(by_id.begin(), by_id.end(), 0U);
        std::ranges::sort(by_id, {}, [&](std::uint32_t at) { return of[at].id; });
        return std::vector<std::uint32_t>{by_id[key % of.size()], by_id[(key + 1) % of.size()]};
    };
    BOOST_TEST(why(candidates(20, 1), modulo).find("another peer") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
