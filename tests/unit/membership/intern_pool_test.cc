#include "membership/intern_pool.h"

#include <boost/test/unit_test.hpp>

#include "samples.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using namespace exa::membership::samples;

namespace {

wire::RecordDelta next_of(const VersionedRecord& before, wire::ReplicaState state) {
    wire::RecordDelta delta;
    delta.peer = before.id;
    delta.generation = before.generation;
    delta.base = before.version;
    delta.version = before.version + 1;
    delta.replicas = {before.replicas.front()};
    delta.replicas.front().state = state;
    return delta;
}

wire::LoadGroup load_group(std::uint64_t number, std::uint32_t in_flight) {
    wire::LoadGroup group;
    group.peer = PeerId{101};
    group.generation = Generation{1};
    group.number = number;
    group.age = std::chrono::milliseconds{7};
    group.reports = {{{group.peer, DeploymentId{1}, 0}, in_flight, 0, 0, group.age}};
    return group;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(intern_pool)

BOOST_AUTO_TEST_CASE(equal_versions_are_one_object_whichever_way_they_came) {
    InternPool pool;
    const auto one = pool.record(nullptr, whole(101));
    BOOST_TEST(pool.record(nullptr, whole(101)) == one);
    const wire::RecordDelta delta = next_of(*one, wire::ReplicaState::draining);
    const auto two = pool.record(one, delta);
    BOOST_TEST(pool.record(one, delta) == two);
    BOOST_TEST(*two == *make_record(nullptr, one, delta));
    const auto three = pool.record(nullptr, two->delta(0));
    BOOST_TEST(pool.record(one, two->delta(0)) == three);
}

BOOST_AUTO_TEST_CASE(an_equal_version_with_other_content_is_not_shared) {
    InternPool pool;
    const auto one = pool.record(nullptr, whole(101));
    wire::RecordDelta forged = whole(101);
    forged.replicas.front().model = "forged";
    const auto other = pool.record(nullptr, forged);
    BOOST_TEST(other != one);
    BOOST_TEST(one->replicas.front().model == "m");
    BOOST_TEST(other->replicas.front().model == "forged");
    // Each goes its own way from there, also by one and the same delta.
    const wire::RecordDelta delta = next_of(*one, wire::ReplicaState::draining);
    forged = delta;
    forged.replicas.front().model = "forged";
    BOOST_TEST(pool.record(one, delta) != pool.record(one, forged));
    wire::RecordDelta of_last = delta;
    of_last.replicas = {one->replicas.back()};
    const auto from_one = pool.record(one, of_last);
    const auto from_other = pool.record(other, of_last);
    BOOST_TEST(from_one != from_other);
    BOOST_TEST(from_one->replicas.front().model == "m");
    BOOST_TEST(from_other->replicas.front().model == "forged");
}

BOOST_AUTO_TEST_CASE(equal_loads_are_one_object_without_an_age_and_others_are_not) {
    InternPool pool;
    const auto one = pool.loads(load_group(3, 5));
    wire::LoadGroup older = load_group(3, 5);
    older.age = older.reports.front().age = std::chrono::milliseconds{90};
    BOOST_TEST(pool.loads(older) == one);
    BOOST_TEST(one->front().age == Duration{0});
    BOOST_TEST(pool.loads(load_group(3, 6)) != one);
    BOOST_TEST(pool.loads(load_group(4, 5)) != one);
}

BOOST_AUTO_TEST_CASE(nothing_is_kept_alive) {
    InternPool pool;
    const std::weak_ptr<const VersionedRecord> record = pool.record(nullptr, whole(101));
    const std::weak_ptr<const LoadReports> loads = pool.loads(load_group(1, 1));
    BOOST_TEST(record.expired());
    BOOST_TEST(loads.expired());
    BOOST_TEST(pool.record(nullptr, whole(101)) != nullptr);
}

BOOST_AUTO_TEST_CASE(rosters_of_one_pool_hold_the_same_records_and_differ_where_what_they_heard_does) {
    const auto pool = std::make_shared<InternPool>();
    Roster one(start, record(1), 1, 1000, pool);
    Roster two(start, record(2), 1, 1000, pool);
    wire::RecordDelta forged = whole(102);
    forged.profile->rack = "forged";
    for (Roster* roster : {&one, &two}) roster->apply(start, whole(101));
    one.apply(start, whole(102));
    two.apply(start, forged);
    BOOST_TEST(one.find(PeerId{101})->record == two.find(PeerId{101})->record);
    BOOST_TEST(one.find(PeerId{102})->record != two.find(PeerId{102})->record);
    BOOST_TEST(one.find(PeerId{102})->record->rack.empty());
    BOOST_TEST(two.find(PeerId{102})->record->rack == "forged");
}

BOOST_AUTO_TEST_SUITE_END()
