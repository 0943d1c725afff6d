#include "membership/roster.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "base/rng.h"
#include "samples.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using namespace exa::membership::samples;
using Applied = Roster::Applied;

namespace {

const PeerId other{101};

// Brings `to` from its version of `peer` to that of `from`.
Applied pass_on(const Roster& from, Roster& to, PeerId peer) {
    const Peer* held = to.find(peer);
    return to.apply(start, *from.delta(peer, held != nullptr ? held->record->version : 0));
}

// A roster whose own peer is `other`, so that it makes the versions.
Roster writer(std::uint16_t replicas = 4) {
    return Roster(start, record(other.value, 1, replicas), 1, 1000);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(roster)

BOOST_AUTO_TEST_CASE(a_whole_record_creates_a_peer_and_the_same_again_is_stale) {
    Roster roster = samples::roster(0);
    BOOST_TEST(roster.apply(start, whole(101)) == Applied::created);
    BOOST_TEST(roster.apply(start, whole(101)) == Applied::stale);
    BOOST_TEST(*roster.find(other)->record == record(101));
    BOOST_TEST(roster.live_count() == 2U);
}

BOOST_AUTO_TEST_CASE(deltas_lead_through_any_sequence_of_changes_to_the_same_record) {
    Roster from = writer();
    Roster steps = samples::roster(0);
    Roster jumps = samples::roster(0);
    Rng rng(5);
    for (int version = 0; version < 300; ++version) {
        wire::PeerRecord next = *from.find(other)->record;
        const auto slot = static_cast<std::uint16_t>(rng.below(90));
        const auto at = std::ranges::lower_bound(next.replicas, ReplicaId{other, DeploymentId{1}, slot}, {},
                                                 &wire::ReplicaRecord::id);
        const bool known = at != next.replicas.end() && at->id.slot == slot;
        if (rng.below(5) == 0)
            next.rack = "rack-" + std::to_string(version);
        else if (!known)
            next.replicas.insert(at, replica(other, slot));
        else if (rng.below(2) == 0)
            next.replicas.erase(at);
        else
            at->weight += 1;
        from.set_self(next);
        from.announce_self();
        BOOST_TEST_REQUIRE(pass_on(from, steps, other) != Applied::gap);
        BOOST_TEST_REQUIRE(*steps.find(other)->record == *from.find(other)->record);
        // Every reader passes on what it has to others as well as the writer does.
        if (rng.below(7) == 0) {
            BOOST_TEST_REQUIRE(pass_on(steps, jumps, other) != Applied::gap);
            BOOST_TEST_REQUIRE(*jumps.find(other)->record == *from.find(other)->record);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_delta_holds_only_what_changed) {
    Roster from = writer();
    wire::PeerRecord next = *from.find(other)->record;
    next.replicas[2].state = wire::ReplicaState::draining;
    next.replicas.erase(next.replicas.begin());
    from.set_self(next);
    from.announce_self();
    const auto delta = from.delta(other, 1);
    BOOST_TEST(delta->base == 1U);
    BOOST_TEST(delta->version == 2U);
    BOOST_TEST(!delta->profile.has_value());
    BOOST_TEST(delta->replicas.size() == 1U);
    BOOST_TEST(delta->removed.size() == 1U);
    BOOST_TEST(from.delta(other, 0)->replicas.size() == 3U);
}

BOOST_AUTO_TEST_CASE(a_delta_from_a_version_that_we_lack_is_a_gap_and_changes_nothing) {
    Roster roster = samples::roster(1);
    wire::RecordDelta delta = whole(101);
    delta.base = 3;
    delta.version = 4;
    BOOST_TEST(roster.apply(start, delta) == Applied::gap);
    BOOST_TEST(*roster.find(other)->record == record(101));
    delta.peer = PeerId{999};
    delta.profile.reset();
    BOOST_TEST(roster.apply(start, delta) == Applied::gap);
    BOOST_TEST(roster.find(PeerId{999}) == nullptr);
}

BOOST_AUTO_TEST_CASE(a_stub_creates_a_peer_with_its_profile_and_pulls_the_rest) {
    Roster from = writer();
    Roster roster = samples::roster(0);
    BOOST_TEST(roster.apply(start, *from.stub(other)) == Applied::created);
    BOOST_TEST(roster.find(other)->record->link == endpoint(101));
    BOOST_TEST(roster.find(other)->record->version == 0U);
    BOOST_TEST(roster.apply(start, *from.stub(other)) == Applied::gap);
    BOOST_TEST(!roster.delta(other, 0).has_value());
    BOOST_TEST(pass_on(from, roster, other) == Applied::changed);
    BOOST_TEST(*roster.find(other)->record == *from.find(other)->record);
}

BOOST_AUTO_TEST_CASE(a_newer_generation_replaces_a_dead_instance_and_an_older_is_stale) {
    Roster roster = samples::roster(1);
    roster.set_liveness(start, other, Liveness::dead, Incarnation{4});
    BOOST_TEST(roster.live().empty());
    BOOST_TEST(roster.apply(start, whole(101, 2)) == Applied::restarted);
    BOOST_TEST(roster.find(other)->liveness == Liveness::alive);
    BOOST_TEST(roster.find(other)->incarnation == Incarnation{0});
    BOOST_TEST(roster.dead().empty());
    BOOST_TEST(roster.apply(start, whole(101, 1)) == Applied::stale);
    BOOST_TEST(roster.find(other)->record->generation == Generation{2});
}

BOOST_AUTO_TEST_CASE(a_successor_under_the_same_generation_starts_with_a_profile_only) {
    Roster roster = samples::roster(2);
    roster.set_liveness(start, other, Liveness::dead, Incarnation{4}, PeerId{102});
    roster.replace_instance(start, other, 2, Incarnation{1});
    const Peer& peer = *roster.find(other);
    BOOST_TEST(peer.liveness == Liveness::alive);
    BOOST_TEST(peer.incarnation == Incarnation{1});
    BOOST_TEST(peer.record->version == 0U);
    BOOST_TEST(peer.record->name == "peer-101");
    BOOST_TEST(roster.dead().empty());
    BOOST_TEST(roster.live_count() == 3U);
    BOOST_TEST(roster.apply(start, whole(record(101), 1)) == Applied::conflict);
    BOOST_TEST(roster.apply(start, whole(record(101), 2)) == Applied::changed);
}

BOOST_AUTO_TEST_CASE(a_record_does_not_raise_the_dead) {
    Roster roster = samples::roster(1);
    roster.set_liveness(start, other, Liveness::dead, Incarnation{0});
    wire::PeerRecord next = record(101);
    next.version = 9;
    BOOST_TEST(roster.apply(start, whole(next)) == Applied::changed);
    BOOST_TEST(roster.find(other)->liveness == Liveness::dead);
    BOOST_TEST(roster.live().empty());
}

BOOST_AUTO_TEST_CASE(another_instance_of_the_same_generation_is_a_conflict) {
    Roster roster = samples::roster(1);
    wire::PeerRecord next = record(101);
    next.version = 9;
    BOOST_TEST(roster.apply(start, whole(next, 2)) == Applied::conflict);
    BOOST_TEST(*roster.find(other)->record == record(101));
}

BOOST_AUTO_TEST_CASE(there_is_room_for_so_many_peers_and_no_more) {
    Roster roster(start, record(7), 1, 3);
    BOOST_TEST(roster.apply(start, whole(101)) == Applied::created);
    BOOST_TEST(roster.apply(start, whole(102)) == Applied::created);
    BOOST_TEST(roster.apply(start, whole(103)) == Applied::full);
    BOOST_TEST(roster.apply(start, whole(102, 2)) == Applied::restarted);
    roster.forget(other);
    BOOST_TEST(roster.apply(start, whole(103)) == Applied::created);
}

BOOST_AUTO_TEST_CASE(deltas_cannot_add_up_to_a_record_above_the_bound) {
    Roster roster = samples::roster(1);
    Applied last = Applied::changed;
    for (std::uint64_t version = 2; version < 600 && last == Applied::changed; ++version) {
        wire::RecordDelta delta = whole(101);
        delta.base = version - 1;
        delta.version = version;
        delta.replicas = {replica(other, static_cast<std::uint16_t>(version))};
        delta.replicas[0].model = std::string(128, 'm');
        last = roster.apply(start, delta);
    }
    BOOST_TEST(last == Applied::full);
    BOOST_TEST(wire::check_record(*roster.find(other)->record).has_value());
}

BOOST_AUTO_TEST_CASE(live_and_dead_peers_are_counted_through_all_changes) {
    Roster roster = samples::roster(5);
    roster.set_liveness(start, PeerId{103}, Liveness::suspect, Incarnation{});
    BOOST_TEST(roster.live().size() == 5U);
    roster.set_liveness(start, PeerId{103}, Liveness::dead, Incarnation{});
    roster.set_liveness(start + Duration{1}, PeerId{101}, Liveness::left, Incarnation{});
    roster.set_liveness(start + Duration{2}, PeerId{105}, Liveness::dead, Incarnation{});
    auto live = roster.live();
    std::ranges::sort(live);
    BOOST_TEST(live == (std::vector{PeerId{102}, PeerId{104}}));
    BOOST_TEST(roster.dead().size() == 2U);
    BOOST_TEST(roster.oldest_tombstone(2) == PeerId{103});
    BOOST_TEST(!roster.oldest_tombstone(3).has_value());
    roster.set_liveness(start, PeerId{103}, Liveness::alive, Incarnation{1});
    BOOST_TEST(roster.oldest_tombstone(1) == PeerId{101});
    BOOST_TEST(roster.live().size() == 3U);
}

BOOST_AUTO_TEST_CASE(a_name_is_taken_while_its_holder_is_live) {
    Roster roster = samples::roster(1);
    wire::PeerRecord twin = record(102);
    twin.name = "peer-101";
    roster.apply(start, whole(twin));
    BOOST_TEST(roster.namesake(PeerId{102}) == other);
    BOOST_TEST(roster.namesake(other) == PeerId{102});
    roster.set_liveness(start, other, Liveness::dead, Incarnation{});
    BOOST_TEST(!roster.namesake(PeerId{102}).has_value());
}

BOOST_AUTO_TEST_CASE(members_are_sorted_shared_while_unchanged_and_those_in_view) {
    Roster roster = samples::roster(3);
    const auto before = roster.members();
    BOOST_TEST(before.size() == 4U);
    BOOST_TEST(std::ranges::is_sorted(before, {}, [](const auto& member) { return member->record->id; }));
    roster.set_liveness(start, PeerId{102}, Liveness::suspect, Incarnation{});
    const auto after = roster.members();
    BOOST_TEST(after.begin()[1] == before.begin()[1]);
    BOOST_TEST(after.begin()[2] != before.begin()[2]);
    BOOST_TEST(after.begin()[2]->liveness == Liveness::suspect);
    roster.take_out_of_view(PeerId{103});
    BOOST_TEST(roster.members().size() == 3U);
}

BOOST_AUTO_TEST_CASE(peers_stand_in_the_order_of_their_ids_whatever_the_order_they_came_in) {
    Roster roster = samples::roster(0);
    for (const std::uint64_t id : {500U, 3U, 101U, 900U, 6U}) roster.apply(start, whole(id));
    roster.forget(PeerId{500});
    std::vector<std::uint64_t> ids;
    for (std::size_t i = 0; i < roster.size(); ++i) ids.push_back(roster.peer(i).record->id.value);
    BOOST_TEST(ids == (std::vector<std::uint64_t>{3, 6, 7, 101, 900}));
    BOOST_TEST(roster.position(PeerId{7}) == 2U);
    BOOST_TEST(roster.position(PeerId{8}) == 3U);
    BOOST_TEST(roster.position(PeerId{901}) == 5U);
    BOOST_TEST(roster.find(PeerId{500}) == nullptr);
    BOOST_TEST(&roster.own() == roster.find(me));
}

BOOST_AUTO_TEST_CASE(the_bytes_of_a_delta_follow_its_base_version_and_incarnation) {
    Roster from = writer();
    const auto agrees = [&](std::uint64_t base) {
        return from.delta_bytes(*from.find(other), base) == wire::size_bound(*from.delta(other, base));
    };
    BOOST_TEST(agrees(0));
    wire::PeerRecord next = *from.find(other)->record;
    next.replicas[0].model = "a much longer name of a model";
    from.set_self(next);
    from.announce_self();
    BOOST_TEST(agrees(0));
    BOOST_TEST(agrees(1));
    from.set_liveness(start, other, Liveness::alive, Incarnation{0x10203});
    BOOST_TEST(agrees(1));
}

BOOST_AUTO_TEST_CASE(the_live_version_grows_with_addresses_and_instances_not_replicas) {
    Roster roster = samples::roster(2);
    wire::PeerRecord next = record(101);
    const auto takes = [&](const wire::PeerRecord& record) {
        const std::uint64_t before = roster.live_version();
        BOOST_TEST_REQUIRE(roster.apply(start, whole(record)) == Applied::changed);
        return roster.live_version() > before;
    };
    next.version = 2;
    next.replicas.pop_back();
    BOOST_TEST(!takes(next));
    next.version = 3;
    next.gossip = endpoint(300);
    BOOST_TEST(takes(next));
    const std::uint64_t before = roster.live_version();
    roster.set_liveness(start, PeerId{102}, Liveness::dead, Incarnation{});
    BOOST_TEST(roster.live_version() > before);
}

BOOST_AUTO_TEST_CASE(a_renamed_peer_frees_its_old_name) {
    Roster roster = samples::roster(2);
    wire::PeerRecord next = record(101);
    next.version = 2;
    next.name = "peer-102";
    roster.apply(start, whole(next));
    BOOST_TEST(roster.namesake(PeerId{102}) == other);
    next.version = 3;
    next.name = "else";
    roster.apply(start, whole(next));
    BOOST_TEST(!roster.namesake(PeerId{102}).has_value());
}

BOOST_AUTO_TEST_CASE(summaries_are_equal_exactly_in_the_parts_of_which_both_know_the_same) {
    const std::uint64_t far = std::uint64_t{3} << 58;
    const auto make = [&](bool backwards) {
        Roster made = samples::roster(0);
        for (std::uint64_t i = 0; i < 20; ++i) {
            const std::uint64_t id = 101 + (backwards ? 19 - i : i);
            made.apply(start, whole(id));
            made.apply(start, whole(far + id));
        }
        return made;
    };
    const Roster one = make(false);
    const auto differing = [&](const Roster& other) {
        std::vector<std::size_t> parts;
        for (std::size_t part = 0; part < wire::summary_parts; ++part)
            if (one.summary()[part] != other.summary()[part]) parts.push_back(part);
        return parts;
    };
    Roster other = make(true);
    BOOST_TEST(differing(other).empty());
    const PeerId near_id{105};
    const PeerId far_id{far + 105};
    other.set_liveness(start, near_id, Liveness::suspect, Incarnation{0}, PeerId{101});
    BOOST_TEST(differing(other) == std::vector<std::size_t>{0}, boost::test_tools::per_element());
    other.set_liveness(start, far_id, Liveness::alive, Incarnation{1});
    BOOST_TEST(differing(other) == (std::vector<std::size_t>{0, 3}));
    other.set_liveness(start, near_id, Liveness::alive, Incarnation{0});
    BOOST_TEST(differing(other) == std::vector<std::size_t>{3});
    other.apply(start, whole(far_id.value, 2));
    BOOST_TEST(differing(other) == std::vector<std::size_t>{3});
    other.forget(far_id);
    BOOST_TEST(differing(other) == std::vector<std::size_t>{3});
    other.apply(start, whole(far_id.value));
    BOOST_TEST(differing(other).empty());
    // What views do not show is not told either.
    other.set_liveness(start, near_id, Liveness::left, Incarnation{0});
    other.take_out_of_view(near_id);
    Roster without = make(false);
    without.forget(near_id);
    BOOST_TEST(std::ranges::equal(other.summary(), without.summary()));
    // Of ourselves it holds what others were told.
    wire::PeerRecord next = *other.own().record;
    next.state = wire::PeerState::draining;
    other.set_self(next);
    BOOST_TEST(std::ranges::equal(other.summary(), without.summary()));
    other.announce_self();
    BOOST_TEST(!std::ranges::equal(other.summary(), without.summary()));
}

BOOST_AUTO_TEST_CASE(the_parts_of_a_summary_cover_all_ids) {
    BOOST_TEST(Roster::ids_of_part(0).first == PeerId{0});
    for (std::size_t part = 1; part < wire::summary_parts; ++part)
        BOOST_TEST(Roster::ids_of_part(part).first.value == Roster::ids_of_part(part - 1).second.value + 1);
    BOOST_TEST(Roster::ids_of_part(wire::summary_parts - 1).second == PeerId{~std::uint64_t{0}});
}

BOOST_AUTO_TEST_SUITE_END()
