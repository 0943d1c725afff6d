#include "ring/ring_pool.h"

#include <boost/test/unit_test.hpp>
#include <vector>

using namespace exa;
using namespace exa::ring;

namespace {

std::vector<RingMember> members(std::uint64_t count) {
    std::vector<RingMember> members;
    for (std::uint64_t i = 1; i <= count; ++i) members.push_back({{PeerId{i}, DeploymentId{1}, 0}, 1});
    return members;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ring_pool)

BOOST_AUTO_TEST_CASE(equal_members_get_one_ring_in_whatever_order_they_come) {
    RingPool pool;
    auto shuffled = members(5);
    std::swap(shuffled[0], shuffled[3]);
    const auto ring = pool.get(members(5), nullptr);
    BOOST_TEST(pool.get(shuffled, nullptr) == ring);
    BOOST_TEST(pool.get(members(4), ring.get()) != ring);
}

BOOST_AUTO_TEST_CASE(a_ring_that_nobody_holds_is_let_go) {
    RingPool pool;
    const std::weak_ptr<const Ring> watched = pool.get(members(5), nullptr);
    BOOST_TEST(watched.expired());
    for (std::uint64_t count = 1; count < 500; ++count) pool.get(members(count), nullptr);
    BOOST_TEST(pool.size() <= 64U);
}

BOOST_AUTO_TEST_SUITE_END()
