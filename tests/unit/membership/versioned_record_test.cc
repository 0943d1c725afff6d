#include "membership/versioned_record.h"

#include <boost/test/unit_test.hpp>

#include "samples.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using namespace exa::membership::samples;

namespace {

// From version `base` of peer 101 to the next: one replica drains, `removed` of the others go.
wire::RecordDelta drain(std::uint64_t base, std::uint16_t slot, std::vector<std::uint16_t> removed = {}) {
    wire::RecordDelta delta;
    delta.peer = PeerId{101};
    delta.generation = Generation{1};
    delta.base = base;
    delta.version = base + 1;
    delta.replicas = {replica(delta.peer, slot)};
    delta.replicas.front().state = wire::ReplicaState::draining;
    for (const std::uint16_t gone : removed) delta.removed.push_back({delta.peer, DeploymentId{1}, gone});
    return delta;
}

VersionedRecord first(std::uint16_t replicas = 4) {
    return VersionedRecord(record(101, 1, replicas));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(versioned_record)

BOOST_AUTO_TEST_CASE(a_version_made_of_a_delta_gives_it_back_and_leaves_its_base_alone) {
    const VersionedRecord before = first();
    const VersionedRecord after(before, drain(1, 2, {0}));
    BOOST_TEST(before.version == 1U);
    BOOST_TEST(before.replicas.size() == 4U);
    BOOST_TEST(after.version == 2U);
    BOOST_TEST(after.replicas.size() == 3U);
    BOOST_TEST(after.delta(1) == drain(1, 2, {0}));
    BOOST_TEST(after.delta(0).base == 0U);
}

BOOST_AUTO_TEST_CASE(a_profile_alone_is_version_0_and_only_a_whole_record_follows_it) {
    const VersionedRecord profile(first().stub());
    BOOST_TEST(profile.version == 0U);
    BOOST_TEST(profile.name == "peer-101");
    BOOST_TEST(profile.replicas.empty());
    BOOST_TEST(!profile.leads_on(drain(1, 2)));
    BOOST_TEST(profile.leads_on(first().delta(0)));
}

BOOST_AUTO_TEST_CASE(it_is_made_by_its_own_delta_and_by_no_other) {
    const VersionedRecord before = first();
    const VersionedRecord after(before, drain(1, 2, {0}));
    BOOST_TEST(after.is_made_by(drain(1, 2, {0})));
    wire::RecordDelta other = drain(1, 2, {0});
    other.replicas.front().model = "forged";
    BOOST_TEST(!after.is_made_by(other));
    BOOST_TEST(!after.is_made_by(drain(1, 2)));
    BOOST_TEST(!after.is_made_by(drain(1, 2, {1})));
    BOOST_TEST(!after.is_made_by(drain(1, 3, {0})));
    BOOST_TEST(!after.is_made_by(drain(2, 2, {0})));
    other = drain(1, 2, {0});
    other.replicas.clear();
    BOOST_TEST(!after.is_made_by(other));
    other = drain(1, 2, {0});
    other.profile = wire::profile_of(before);
    BOOST_TEST(!after.is_made_by(other));
    other = drain(1, 2, {0});
    other.generation = Generation{2};
    BOOST_TEST(!after.is_made_by(other));
}

BOOST_AUTO_TEST_CASE(a_whole_record_is_made_by_itself_and_by_no_other) {
    const VersionedRecord held(whole(101));
    BOOST_TEST(held.is_made_by(whole(101)));
    wire::RecordDelta other = whole(101);
    other.profile->rack = "forged";
    BOOST_TEST(!held.is_made_by(other));
    other = whole(101);
    other.replicas.back().weight = 2;
    BOOST_TEST(!held.is_made_by(other));
    BOOST_TEST(!held.is_made_by(first().stub()));
    BOOST_TEST(VersionedRecord(first().stub()).is_made_by(first().stub()));
    BOOST_TEST(!VersionedRecord(first().stub()).is_made_by(whole(101)));
}

BOOST_AUTO_TEST_CASE(a_measured_delta_is_measured_again_for_another_base_or_incarnation) {
    const VersionedRecord after(first(), drain(1, 2));
    for (const std::uint64_t base : {0U, 1U, 0U})
        for (const std::uint64_t incarnation : {0U, 70'000U}) {
            wire::RecordDelta delta = after.delta(base);
            delta.incarnation = Incarnation{incarnation};
            BOOST_TEST(after.delta_bytes(base, Incarnation{incarnation}) == wire::size_bound(delta));
        }
}

BOOST_AUTO_TEST_SUITE_END()
