#include "node/kv_placement.h"

#include <boost/test/unit_test.hpp>

#include "support/members.h"

using namespace exa;
using namespace exa::node;
using membership::Liveness;

namespace {

std::shared_ptr<const membership::Member> member(std::uint64_t id, Liveness liveness = Liveness::alive,
                                                 std::uint16_t gib = 10,
                                                 wire::PeerState state = wire::PeerState::serving) {
    wire::PeerRecord record;
    record.id = PeerId{id};
    record.rack = "rack-" + std::to_string(id);
    record.kv_gib = gib;
    record.state = state;
    return test::member_of(std::move(record), liveness);
}

std::vector<std::uint64_t> holders(std::vector<std::shared_ptr<const membership::Member>> members) {
    std::vector<std::uint64_t> ids;
    const kv::Placement placement = kv_placement(*test::view_of(std::move(members)));
    for (const kv::Holder& holder : placement.holders()) ids.push_back(holder.id.value);
    return ids;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kv_placement_)

BOOST_AUTO_TEST_CASE(the_dead_stay_owners_until_they_are_lost) {
    BOOST_TEST(holders({member(1), member(2, Liveness::suspect), member(3, Liveness::dead), member(4, Liveness::lost),
                        member(5, Liveness::left)}) == (std::vector<std::uint64_t>{1, 2, 3}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_suspect_is_in_reach_and_a_dead_peer_is_not) {
    const kv::Placement placement =
        kv_placement(*test::view_of({member(1), member(2, Liveness::suspect), member(3, Liveness::dead)}));
    BOOST_TEST(placement.reachable(PeerId{1}));
    BOOST_TEST(placement.reachable(PeerId{2}));
    BOOST_TEST(!placement.reachable(PeerId{3}));
}

BOOST_AUTO_TEST_CASE(who_drains_or_keeps_nothing_owns_nothing) {
    BOOST_TEST(holders({member(1, Liveness::alive, 0), member(2, Liveness::alive, 5, wire::PeerState::draining),
                        member(3, Liveness::alive, 5, wire::PeerState::leaving),
                        member(4, Liveness::alive, 5, wire::PeerState::starting)}) == (std::vector<std::uint64_t>{4}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(racks_and_sizes_of_records_are_those_of_holders) {
    const kv::Placement placement = kv_placement(*test::view_of({member(1, Liveness::alive, 7), member(2)}));
    BOOST_TEST(placement.holders()[0].weight == 7U);
    BOOST_TEST(placement.holders()[0].rack != placement.holders()[1].rack);
}

BOOST_AUTO_TEST_SUITE_END()
