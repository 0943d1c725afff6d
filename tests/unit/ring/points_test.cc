#include "ring/points.h"

#include <boost/test/unit_test.hpp>
#include <vector>

#include "base/rng.h"
#include "support/print.h"

using namespace exa;
using namespace exa::ring;

namespace {

// Sorted by id; every step from `from`.
Points::Members members(std::uint64_t from, std::uint64_t count, std::uint32_t weight = 1) {
    std::vector<RingMember> members;
    for (std::uint64_t i = from; i < from + count; ++i) members.push_back({{PeerId{i}, DeploymentId{7}, 3}, weight});
    return std::make_shared<const std::vector<RingMember>>(std::move(members));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(points)

BOOST_AUTO_TEST_CASE(points_stand_in_order_and_the_circle_closes) {
    const auto circle = Points::build(members(1, 20), nullptr);
    BOOST_TEST(circle->size() == 20U * points_per_weight);
    const std::uint64_t first = point_position({PeerId{1}, DeploymentId{7}, 3}, 0);
    BOOST_TEST(circle->owner(circle->find(first)) == 0U);
    BOOST_TEST(circle->find(~std::uint64_t{0}) == 0U);
}

BOOST_AUTO_TEST_CASE(a_gap_leads_to_the_same_members_point_before) {
    const auto circle = Points::build(members(1, 9), nullptr);
    for (std::size_t point = 0; point < circle->size(); ++point) {
        const std::size_t gap = circle->gap(point);
        BOOST_TEST_REQUIRE(gap <= circle->size());
        BOOST_TEST(circle->owner((point + circle->size() - gap) % circle->size()) == circle->owner(point));
        for (std::size_t back = 1; back < gap; ++back)
            BOOST_TEST_REQUIRE(circle->owner((point + circle->size() - back) % circle->size()) != circle->owner(point));
    }
}

BOOST_AUTO_TEST_CASE(a_changed_weight_moves_only_that_members_points) {
    const auto before = Points::build(members(1, 3), nullptr);
    std::vector<RingMember> heavier = *members(1, 3);
    heavier[1].weight = 2;
    const auto now = std::make_shared<const std::vector<RingMember>>(heavier);
    const auto circle = Points::build(now, before.get());
    const auto fresh = Points::build(now, nullptr);
    BOOST_TEST(circle->size() == 4U * points_per_weight);
    Rng rng(1);
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t position = rng.next();
        BOOST_TEST(circle->find(position) == fresh->find(position));
        BOOST_TEST(circle->owner(circle->find(position)) == fresh->owner(fresh->find(position)));
    }
}

BOOST_AUTO_TEST_SUITE_END()
