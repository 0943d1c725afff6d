#include "node/kv_placement.h"

#include <boost/test/unit_test.hpp>

using namespace exa;
using namespace exa::node;
using membership::Liveness;

namespace {

std::shared_ptr<const membership::Member> member(std::uint64_t id, Liveness liveness = Liveness::alive,
                                                 std::uint16_t gib = 10,
                                                 wire::PeerState state = wire::PeerState::serving) {
    auto record = std::make_shared<wire::PeerRecord>();
    record->id = PeerId{id};
    record->rack = "rack-" + std::to_string(id);
    record->kv_gib = gib;
    record->state = state;
    return std::make_shared<const membership::Member>(membership::Member{std::move(record), liveness, {}, {}});
}

std::vector<std::uint64_t> holders(std::vector<std::shared_ptr<const membership::Member>> members) {
    membership::View view;
    view.members = membership::MemberList(std::move(members));
    std::vector<std::uint64_t> ids;
    const kv::Placement placement = kv_placement(view);
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
    membership::View view;
    view.members = membership::MemberList({member(1), member(2, Liveness::suspect), member(3, Liveness::dead)});
    const kv::Placement placement = kv_placement(view);
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
    membership::View view;
    view.members = membership::MemberList({member(1, Liveness::alive, 7), member(2)});
    const kv::Placement placement = kv_placement(view);
    BOOST_TEST(placement.holders()[0].weight == 7U);
    BOOST_TEST(placement.holders()[0].rack != placement.holders()[1].rack);
}

BOOST_AUTO_TEST_SUITE_END()
