#include "membership/view.h"

#include <boost/test/unit_test.hpp>

#include "support/members.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;

BOOST_AUTO_TEST_SUITE(view)

BOOST_AUTO_TEST_CASE(members_and_loads_are_found_by_id_and_others_are_not) {
    View view;
    MemberList::Members members;
    for (const std::uint64_t id : {2U, 5U, 9U}) {
        wire::PeerRecord record;
        record.id = PeerId{id};
        members.push_back(test::member_of(record));
        LoadEntry entry;
        entry.report.replica = {PeerId{id}, DeploymentId{1}, 3};
        view.loads.push_back(std::make_shared<PeerLoads>(PeerLoads{PeerId{id}, {entry}}));
    }
    view.members = MemberList(members);
    for (const std::uint64_t id : {2U, 5U, 9U}) {
        BOOST_TEST(view.find(PeerId{id})->record->id == PeerId{id});
        BOOST_TEST(view.find_load({PeerId{id}, DeploymentId{1}, 3})->report.replica.peer == PeerId{id});
        BOOST_TEST(view.find_load({PeerId{id}, DeploymentId{1}, 4}) == nullptr);
    }
    for (const std::uint64_t id : {1U, 3U, 10U}) {
        BOOST_TEST(view.find(PeerId{id}) == nullptr);
        BOOST_TEST(view.find_load({PeerId{id}, DeploymentId{1}, 3}) == nullptr);
    }
    BOOST_TEST(View{}.find(PeerId{1}) == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
