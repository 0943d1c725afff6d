// What must hold of every ring: R1 (owner is a pure function of the members) and R2 (bounded movement).
#include <rapidcheck.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <memory>
#include <vector>

#include "base/rng.h"
#include "ring/ring.h"

using exa::DeploymentId;
using exa::PeerId;
using exa::ReplicaId;
using exa::Rng;
using exa::ring::Ring;
using exa::ring::RingMember;

namespace {

// 1 to 24 members of distinct ids; weights 1 to 3.
std::vector<RingMember> draw_members() {
    const auto count = *rc::gen::inRange<std::size_t>(1, 25);
    Rng rng(*rc::gen::arbitrary<std::uint64_t>());
    std::vector<RingMember> members;
    for (std::size_t i = 0; i < count; ++i)
        members.push_back({{PeerId{rng.next()}, DeploymentId{rng.next()}, static_cast<std::uint16_t>(i)},
                           static_cast<std::uint32_t>(rng.below(3) + 1)});
    return members;
}

ReplicaId owner_id(const Ring& ring, std::uint64_t position) {
    return ring.members()[ring.owner(position)].id;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ring_property)

BOOST_AUTO_TEST_CASE(the_order_of_members_does_not_matter) {
    BOOST_TEST(rc::check([] {
        auto members = draw_members();
        const Ring ring = Ring(members);
        Rng rng(*rc::gen::arbitrary<std::uint64_t>());
        rng.shuffle(std::span(members));
        members.push_back(members.front());
        const Ring again = Ring(members);
        RC_ASSERT(ring.digest() == again.digest());
        for (int i = 0; i < 64; ++i) {
            const std::uint64_t position = rng.next();
            RC_ASSERT(owner_id(ring, position) == owner_id(again, position));
        }
    }));
}

BOOST_AUTO_TEST_CASE(removing_a_member_moves_only_what_it_owned) {
    BOOST_TEST(rc::check([] {
        auto members = draw_members();
        const Ring before = Ring(members);
        const auto gone = *rc::gen::inRange<std::size_t>(0, members.size());
        const ReplicaId gone_id = members[gone].id;
        members.erase(members.begin() + static_cast<std::ptrdiff_t>(gone));
        const Ring after = Ring(members);
        RC_PRE(!after.empty());
        Rng rng(*rc::gen::arbitrary<std::uint64_t>());
        for (int i = 0; i < 256; ++i) {
            const std::uint64_t position = rng.next();
            if (owner_id(before, position) != gone_id)
                RC_ASSERT(owner_id(before, position) == owner_id(after, position));
        }
    }));
}

BOOST_AUTO_TEST_CASE(adding_a_member_takes_only_its_own_share) {
    BOOST_TEST(rc::check([] {
        auto members = draw_members();
        const Ring before = Ring(members);
        const RingMember added{{PeerId{*rc::gen::arbitrary<std::uint64_t>()}, DeploymentId{1}, 40'000}, 1};
        members.push_back(added);
        const Ring after = Ring(members);
        const double share = after.share(*after.find(added.id));
        Rng rng(*rc::gen::arbitrary<std::uint64_t>());
        double moved = 0;
        constexpr int draws = 2'000;
        for (int i = 0; i < draws; ++i) {
            const std::uint64_t position = rng.next();
            if (owner_id(before, position) == owner_id(after, position)) continue;
            RC_ASSERT(owner_id(after, position) == added.id);
            ++moved;
        }
        RC_ASSERT(std::abs(moved / draws - share) < 0.06);
    }));
}

// Any history of members, drawn or not in between, against the ring that knows only the last.
BOOST_AUTO_TEST_CASE(a_ring_made_out_of_those_before_is_the_ring_made_of_nothing) {
    BOOST_TEST(rc::check([] {
        auto members = draw_members();
        auto ring = std::make_unique<Ring>(members);
        Rng rng(*rc::gen::arbitrary<std::uint64_t>());
        for (std::uint64_t turn = 1 + rng.below(6); turn > 0; --turn) {
            if (rng.below(2) == 0) ring->owner(rng.next());
            for (std::uint64_t change = rng.below(5); change > 0; --change) {
                const std::uint64_t at = rng.below(members.size());
                switch (rng.below(3)) {
                    case 0:
                        members.push_back({{PeerId{rng.next()}, DeploymentId{1}, 2}, 1});
                        break;
                    case 1:
                        if (members.size() > 1) members.erase(members.begin() + static_cast<std::ptrdiff_t>(at));
                        break;
                    default:
                        members[at].weight = static_cast<std::uint32_t>(1 + rng.below(3));
                }
            }
            ring = std::make_unique<Ring>(members, ring.get());
        }
        const Ring fresh(members);
        RC_ASSERT(ring->digest() == fresh.digest());
        RC_ASSERT(std::ranges::equal(ring->members(), fresh.members()));
        for (int i = 0; i < 32; ++i) {
            const std::uint64_t position = rng.next();
            std::vector<std::uint32_t> walked;
            const auto walk = [&](const Ring& of) {
                walked.clear();
                of.walk(position, [&](std::uint32_t member) {
                    walked.push_back(member);
                    return true;
                });
                return walked;
            };
            RC_ASSERT(ring->owner(position) == fresh.owner(position));
            RC_ASSERT(walk(*ring) == walk(fresh));
        }
        for (std::uint32_t member = 0; member < fresh.size(); ++member) {
            const std::uint64_t entropy = rng.next();
            RC_ASSERT(ring->position_in_arc_of(member, entropy) == fresh.position_in_arc_of(member, entropy));
            RC_ASSERT(ring->share(member) == fresh.share(member));
        }
    }));
}

BOOST_AUTO_TEST_CASE(arcs_cover_the_whole_circle_once) {
    BOOST_TEST(rc::check([] {
        const Ring ring = Ring(draw_members());
        double sum = 0;
        std::uint64_t weight = 0;
        for (const RingMember& member : ring.members()) weight += member.weight;
        for (std::uint32_t m = 0; m < ring.size(); ++m) {
            sum += ring.share(m);
            const double fair = ring.members()[m].weight / static_cast<double>(weight);
            // The arcs of 64 points vary by an eighth of the share; five of those are a bug.
            RC_ASSERT(std::abs(ring.share(m) - fair) < fair * 5 / 8);
        }
        RC_ASSERT(std::abs(sum - 1.0) < 1e-9);
    }));
}

BOOST_AUTO_TEST_CASE(a_position_drawn_in_an_arc_belongs_to_its_member) {
    BOOST_TEST(rc::check([] {
        const Ring ring = Ring(draw_members());
        const auto member = *rc::gen::inRange<std::uint32_t>(0, static_cast<std::uint32_t>(ring.size()));
        const auto entropy = *rc::gen::arbitrary<std::uint64_t>();
        RC_ASSERT(ring.owner(ring.position_in_arc_of(member, entropy)) == member);
        RC_ASSERT(ring.owner(ring.position_in_arc_of(member, 0)) == member);
        RC_ASSERT(ring.owner(ring.position_in_arc_of(member, ~std::uint64_t{0})) == member);
    }));
}

BOOST_AUTO_TEST_CASE(a_walk_begins_with_the_owner_and_meets_every_member_once) {
    BOOST_TEST(rc::check([] {
        const Ring ring = Ring(draw_members());
        const auto position = *rc::gen::arbitrary<std::uint64_t>();
        std::vector<std::uint32_t> order;
        ring.walk(position, [&](std::uint32_t member) {
            order.push_back(member);
            return true;
        });
        RC_ASSERT(order.size() == ring.size());
        RC_ASSERT(order.front() == ring.owner(position));
        std::ranges::sort(order);
        for (std::uint32_t m = 0; m < order.size(); ++m) RC_ASSERT(order[m] == m);
    }));
}

BOOST_AUTO_TEST_SUITE_END()
