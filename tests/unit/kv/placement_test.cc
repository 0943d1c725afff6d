#include "kv/placement.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "keys.h"
#include "support/print.h"

using namespace exa;
using namespace exa::kv;
using namespace exa::kv::samples;

BOOST_AUTO_TEST_SUITE(placement_)

BOOST_AUTO_TEST_CASE(owners_are_on_distinct_racks_and_do_not_depend_on_the_order_of_holders) {
    std::vector<Holder> holders;
    for (std::uint64_t id = 1; id <= 12; ++id) holders.push_back({PeerId{id}, id % 3, 1, true});
    const Placement placement(holders, 2);
    std::ranges::reverse(holders);
    const Placement reversed(holders, 2);
    BOOST_TEST(placement.digest() == reversed.digest());
    for (std::uint64_t n = 0; n < 200; ++n) {
        const auto owners = placement.owners(key(n));
        BOOST_TEST_REQUIRE(owners.size() == 2U);
        BOOST_TEST(owners[0].value % 3 != owners[1].value % 3);
        BOOST_TEST(owners == reversed.owners(key(n)));
        BOOST_TEST(placement.owns(owners[1], key(n)));
    }
}

BOOST_AUTO_TEST_CASE(a_peer_without_capacity_owns_nothing) {
    const Placement placement({{PeerId{1}, 1, 0, true}, {PeerId{2}, 2, 5, true}}, 2);
    BOOST_TEST(placement.owners(key(1)) == std::vector{PeerId{2}});
    BOOST_TEST(!placement.reachable(PeerId{1}));
    BOOST_TEST(Placement().owners(key(1)).empty());
}

BOOST_AUTO_TEST_CASE(being_out_of_reach_changes_no_owner) {
    const std::vector<Holder> holders{{PeerId{1}, 1, 1, true}, {PeerId{2}, 2, 1, true}, {PeerId{3}, 3, 1, true}};
    std::vector<Holder> without = holders;
    without[1].reachable = false;
    const Placement before(holders, 2);
    const Placement after(without, 2);
    BOOST_TEST(before.digest() == after.digest());
    BOOST_TEST(!after.reachable(PeerId{2}));
    for (std::uint64_t n = 0; n < 50; ++n) BOOST_TEST(before.owners(key(n)) == after.owners(key(n)));
}

BOOST_AUTO_TEST_CASE(weights_and_racks_and_copies_are_part_of_the_digest) {
    const Holder one{PeerId{1}, 1, 1, true};
    const Holder heavier{PeerId{1}, 1, 2, true};
    const Holder elsewhere{PeerId{1}, 2, 1, true};
    std::set<std::uint64_t> digests{Placement({one}, 2).digest(), Placement({heavier}, 2).digest(),
                                    Placement({elsewhere}, 2).digest(), Placement({one}, 3).digest()};
    BOOST_TEST(digests.size() == 4U);
}

BOOST_AUTO_TEST_SUITE_END()
