#include "ring/ring.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

#include "base/rng.h"
#include "support/print.h"

using exa::DeploymentId;
using exa::PeerId;
using exa::ReplicaId;
using exa::Rng;
using exa::ring::Ring;
using exa::ring::RingMember;

namespace {

std::vector<RingMember> some_members(std::uint64_t count, std::uint32_t weight = 1) {
    std::vector<RingMember> members;
    for (std::uint64_t i = 0; i < count; ++i)
        members.push_back({{PeerId{i / 12 + 1}, DeploymentId{7}, static_cast<std::uint16_t>(i % 12)}, weight});
    return members;
}

ReplicaId owner_id(const Ring& ring, std::uint64_t position) {
    return ring.members()[ring.owner(position)].id;
}

std::vector<std::uint32_t> walk_from(const Ring& ring, std::uint64_t position) {
    std::vector<std::uint32_t> order;
    ring.walk(position, [&](std::uint32_t member) {
        order.push_back(member);
        return true;
    });
    return order;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ring)

// These values place sessions on a running cluster: if one changes, every key moves.
BOOST_AUTO_TEST_CASE(points_and_digest_are_the_wire_contract) {
    const ReplicaId id{PeerId{0x0123456789abcdef}, DeploymentId{0xfedcba9876543210}, 0x1234};
    BOOST_TEST(exa::ring::point_position(id, 0) == 15145324369991117797u);
    BOOST_TEST(exa::ring::point_position(id, 63) == 17078376577477730122u);
    BOOST_TEST(Ring(some_members(24)).digest() == 7320053519558653353u);
    BOOST_TEST(to_string(owner_id(Ring(some_members(24)), 0x8000000000000000)) ==
               "0000000000000002.0000000000000007.1");
}

BOOST_AUTO_TEST_CASE(an_empty_ring_has_no_members_and_walks_nowhere) {
    const Ring ring = Ring(std::vector<RingMember>{});
    BOOST_TEST(ring.empty());
    BOOST_TEST(ring.size() == 0u);
    BOOST_TEST(walk_from(ring, 5).empty());
    BOOST_TEST(!ring.find(ReplicaId{}).has_value());
}

BOOST_AUTO_TEST_CASE(a_sole_member_owns_the_whole_circle) {
    const Ring ring = Ring(some_members(1));
    for (const std::uint64_t position : {std::uint64_t{0}, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
        BOOST_TEST(ring.owner(position) == 0u);
        BOOST_TEST(ring.position_in_arc_of(0, position) == position);
        BOOST_TEST(walk_from(ring, position).size() == 1u);
    }
    BOOST_TEST(ring.share(0) == 1.0);
}

BOOST_AUTO_TEST_CASE(a_point_owns_its_own_position_and_the_next_belongs_to_the_point_behind) {
    const auto members = some_members(3);
    const Ring ring = Ring(members);
    for (const RingMember& member : members) {
        for (std::uint32_t i = 0; i < exa::ring::points_per_weight; ++i) {
            const std::uint64_t position = exa::ring::point_position(member.id, i);
            BOOST_TEST(owner_id(ring, position) == member.id);
            BOOST_TEST(owner_id(ring, position - 1) == member.id);
        }
    }
}

BOOST_AUTO_TEST_CASE(owner_is_the_member_of_the_nearest_point_ahead) {
    const auto members = some_members(5, 2);
    const Ring ring = Ring(members);
    Rng rng(1);
    for (int round = 0; round < 2'000; ++round) {
        const std::uint64_t position = rng.next();
        std::uint64_t nearest = ~std::uint64_t{0};
        ReplicaId expected;
        for (const RingMember& member : members) {
            for (std::uint32_t i = 0; i < 128; ++i) {
                const std::uint64_t ahead = exa::ring::point_position(member.id, i) - position;
                if (ahead < nearest) {
                    nearest = ahead;
                    expected = member.id;
                }
            }
        }
        BOOST_TEST(owner_id(ring, position) == expected);
    }
}

BOOST_AUTO_TEST_CASE(a_walk_meets_every_member_once_in_the_order_of_first_points) {
    const auto members = some_members(9);
    const Ring ring = Ring(members);
    Rng rng(2);
    for (int round = 0; round < 200; ++round) {
        const std::uint64_t position = rng.next();
        std::vector<std::pair<std::uint64_t, std::uint32_t>> expected;
        for (std::uint32_t m = 0; m < ring.size(); ++m) {
            std::uint64_t nearest = ~std::uint64_t{0};
            for (std::uint32_t i = 0; i < exa::ring::points_per_weight; ++i)
                nearest = std::min(nearest, exa::ring::point_position(ring.members()[m].id, i) - position);
            expected.emplace_back(nearest, m);
        }
        std::ranges::sort(expected);
        std::vector<std::uint32_t> order;
        for (const auto& [ahead, member] : expected) order.push_back(member);
        BOOST_TEST(walk_from(ring, position) == order, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(a_circle_is_drawn_by_the_first_lookup_unless_it_is_drawn_before) {
    const Ring asked = Ring(some_members(9));
    BOOST_TEST(!asked.is_drawn());
    const std::uint32_t owner = asked.owner(77);
    BOOST_TEST(asked.is_drawn());
    const Ring drawn = Ring(some_members(9));
    drawn.draw();
    BOOST_TEST(drawn.is_drawn());
    BOOST_TEST(drawn.owner(77) == owner);
    const Ring after = Ring(some_members(8), &drawn);
    BOOST_TEST(!after.is_drawn());
}

BOOST_AUTO_TEST_CASE(a_walk_stops_when_the_visitor_says_so) {
    const Ring ring = Ring(some_members(9));
    int visits = 0;
    ring.walk(77, [&](std::uint32_t) { return ++visits < 3; });
    BOOST_TEST(visits == 3);
}

BOOST_AUTO_TEST_CASE(without_its_owner_a_position_falls_to_the_next_of_the_walk) {
    const auto members = some_members(6);
    const Ring ring = Ring(members);
    Rng rng(3);
    for (int round = 0; round < 200; ++round) {
        const std::uint64_t position = rng.next();
        const auto order = walk_from(ring, position);
        std::vector<RingMember> rest(ring.members().begin(), ring.members().end());
        rest.erase(rest.begin() + order[0]);
        BOOST_TEST(owner_id(Ring(rest), position) == ring.members()[order[1]].id);
    }
}

BOOST_AUTO_TEST_CASE(twice_the_weight_owns_about_twice_the_circle) {
    auto members = some_members(20);
    members[7].weight = 16;
    const Ring ring = Ring(members);
    BOOST_TEST(ring.share(7) > 0.35);  // 16 of 35 is 0.457
    BOOST_TEST(ring.share(7) < 0.57);
}

BOOST_AUTO_TEST_CASE(weight_zero_is_left_out_and_absurd_weights_are_cut) {
    auto members = some_members(3);
    members[0].weight = 0;
    members[1].weight = 0xffffffff;
    const Ring ring = Ring(members);
    BOOST_TEST(ring.size() == 2u);
    BOOST_TEST(!ring.find(members[0].id).has_value());
    BOOST_TEST(ring.members()[*ring.find(members[1].id)].weight == exa::ring::weight_max);
}

BOOST_AUTO_TEST_CASE(a_repeated_id_counts_once_with_its_heavier_weight) {
    const RingMember light{{PeerId{1}, DeploymentId{1}, 0}, 1};
    const RingMember heavy{{PeerId{1}, DeploymentId{1}, 0}, 3};
    const RingMember other{{PeerId{2}, DeploymentId{1}, 0}, 1};
    const Ring one = Ring(std::vector{light, heavy, other});
    const Ring two = Ring(std::vector{other, heavy, light});
    BOOST_TEST(one.size() == 2u);
    BOOST_TEST(one.digest() == two.digest());
    BOOST_TEST(one.digest() == Ring(std::vector{heavy, other}).digest());
}

BOOST_AUTO_TEST_CASE(digest_tells_ids_and_weights_apart) {
    auto members = some_members(4);
    std::set<std::uint64_t> digests{Ring(members).digest()};
    members[2].weight = 2;
    digests.insert(Ring(members).digest());
    members[2].id.slot = 99;
    digests.insert(Ring(members).digest());
    members.pop_back();
    digests.insert(Ring(members).digest());
    BOOST_TEST(digests.size() == 4u);
}

BOOST_AUTO_TEST_CASE(positions_in_an_arc_reach_all_of_it) {
    const Ring ring = Ring(some_members(4));
    const std::uint64_t last = ring.position_in_arc_of(2, ~std::uint64_t{0});
    BOOST_TEST(ring.owner(ring.position_in_arc_of(2, 0)) == 2u);
    BOOST_TEST(ring.owner(last) == 2u);
    // The last position of the last arc is its point (within the rounding of the scaling).
    BOOST_TEST(ring.owner(last + 1) != 2u);
    std::set<std::uint64_t> arcs;
    for (std::uint64_t i = 0; i < 4'096; ++i) {
        const std::uint64_t position = ring.position_in_arc_of(2, i << 52);
        std::uint64_t nearest = ~std::uint64_t{0};
        for (std::uint32_t p = 0; p < exa::ring::points_per_weight; ++p)
            nearest = std::min(nearest, exa::ring::point_position(ring.members()[2].id, p) - position);
        arcs.insert(position + nearest);
    }
    BOOST_TEST(arcs.size() > 56u);
}

BOOST_AUTO_TEST_SUITE_END()
