#include "membership/gossip_queue.h"

#include <boost/test/unit_test.hpp>

#include "samples.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using namespace exa::membership::samples;

namespace {

constexpr std::size_t room = 1100;
constexpr std::uint32_t budget = 1000;

struct Fixture {
    Roster roster = samples::roster(200);
    LoadTable loads;
    GossipQueue queue;

    wire::Packet fill() {
        wire::Packet packet;
        queue.fill(start, roster, loads, budget, room, packet);
        return packet;
    }
    void add_load(std::uint64_t peer) {
        wire::LoadGroup group{PeerId{peer}, Generation{1}, 1, 0, Duration{0}, {}};
        for (std::uint16_t slot = 0; slot < wire::load_group_max; ++slot)
            group.reports.push_back({{group.peer, DeploymentId{~std::uint64_t{0}}, slot}, ~0U, ~0U, 999, Duration{0}});
        loads.apply(start, group, {});
        queue.add_load({PeerId{peer}, 0}, false);
    }
    void add_big_record(std::uint64_t peer, std::size_t name_bytes, std::uint16_t replicas = 0) {
        wire::PeerRecord big = record(peer, 2, replicas);
        big.name = big.region = std::string(name_bytes, 'x');
        for (auto& replica : big.replicas) replica.numerics = std::string(100, 'y') + std::to_string(replica.id.slot);
        roster.apply(start, whole(big));
        queue.add_record(PeerId{peer}, 0);
    }
};

std::size_t bytes(const wire::Packet& packet) {
    std::size_t sum = 0;
    for (const auto& fact : packet.facts) sum += wire::size_bound(fact);
    for (const auto& record : packet.records) sum += wire::size_bound(record);
    for (const auto& group : packet.loads) sum += wire::size_bound(group);
    return sum;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(gossip_queue, Fixture)

BOOST_AUTO_TEST_CASE(one_class_alone_gets_the_whole_room) {
    for (std::uint64_t peer = 101; peer <= 300; ++peer) queue.add_fact(PeerId{peer});
    const auto packet = fill();
    BOOST_TEST(bytes(packet) <= room);
    BOOST_TEST(bytes(packet) + 40 > room);
}

BOOST_AUTO_TEST_CASE(loads_and_records_go_on_beside_a_flood_of_facts) {
    for (std::uint64_t peer = 101; peer <= 300; ++peer) {
        queue.add_fact(PeerId{peer});
        queue.add_record(PeerId{peer}, 0);
    }
    for (std::uint64_t peer = 101; peer <= 110; ++peer) add_load(peer);
    std::size_t facts = 0;
    std::size_t records = 0;
    std::size_t groups = 0;
    for (int packets = 0; packets < 10; ++packets) {
        const auto packet = fill();
        BOOST_TEST(bytes(packet) <= room);
        facts += packet.facts.size();
        records += packet.records.size();
        groups += packet.loads.size();
    }
    BOOST_TEST(facts > 100U);
    // Those that are bigger than their share take turns.
    BOOST_TEST(records >= 5U);
    BOOST_TEST(groups >= 4U);
}

BOOST_AUTO_TEST_CASE(a_record_above_its_share_still_gets_through_a_flood_of_facts) {
    for (std::uint64_t peer = 101; peer <= 300; ++peer) queue.add_fact(PeerId{peer});
    add_big_record(150, 120, 2);
    BOOST_TEST_REQUIRE(wire::size_bound(*roster.delta(PeerId{150}, 0)) > room / 2);
    BOOST_TEST_REQUIRE(wire::size_bound(*roster.delta(PeerId{150}, 0)) < room);
    std::size_t records = 0;
    for (int packets = 0; packets < 4; ++packets) records += fill().records.size();
    BOOST_TEST(records >= 1U);
}

BOOST_AUTO_TEST_CASE(a_record_too_big_for_any_packet_travels_as_a_stub) {
    add_big_record(150, 20, 30);
    const auto packet = fill();
    BOOST_TEST_REQUIRE(packet.records.size() == 1U);
    BOOST_TEST(packet.records[0].base == packet.records[0].version);
    BOOST_TEST(packet.records[0].profile.has_value());
    BOOST_TEST(packet.records[0].replicas.empty());
}

BOOST_AUTO_TEST_CASE(nothing_stands_twice_in_a_packet) {
    queue.add_fact(PeerId{101});
    queue.add_record(PeerId{101}, 0);
    add_load(101);
    wire::Packet packet;
    packet.facts.push_back(roster.fact(PeerId{101}));
    queue.fill(start, roster, loads, budget, room, packet);
    BOOST_TEST(packet.facts.size() == 1U);
    BOOST_TEST(packet.records.size() == 1U);
    BOOST_TEST(packet.loads.size() == 1U);
}

BOOST_AUTO_TEST_CASE(dropped_and_forgotten_peers_are_not_spread) {
    queue.add_fact(PeerId{101});
    queue.add_record(PeerId{101}, 0);
    add_load(101);
    queue.drop_state(PeerId{101});
    BOOST_TEST(queue.size() == 1U);
    roster.forget(PeerId{101});
    const auto packet = fill();
    BOOST_TEST(packet.facts.empty());
    BOOST_TEST(queue.empty());
}

BOOST_AUTO_TEST_CASE(loads_are_sent_three_times_and_the_rest_as_the_budget_says) {
    queue.add_fact(PeerId{101});
    add_load(101);
    std::size_t facts = 0;
    std::size_t groups = 0;
    for (int packets = 0; packets < 20; ++packets) {
        wire::Packet packet;
        queue.fill(start, roster, loads, 8, room, packet);
        facts += packet.facts.size();
        groups += packet.loads.size();
    }
    BOOST_TEST(facts == 8U);
    BOOST_TEST(groups == 3U);
}

BOOST_AUTO_TEST_CASE(only_a_backlog_of_records_is_dropped_as_one) {
    for (std::uint64_t peer = 101; peer < 101 + GossipQueue::records_backlog; ++peer) queue.add_record(PeerId{peer}, 0);
    queue.add_fact(PeerId{101});
    queue.drop_backlog();
    BOOST_TEST(queue.records() == GossipQueue::records_backlog);
    queue.add_record(PeerId{300}, 0);
    queue.drop_backlog();
    BOOST_TEST(queue.records() == 0U);
    BOOST_TEST(queue.size() == 1U);
}

BOOST_AUTO_TEST_CASE(small_changes_of_load_ask_for_no_packet_of_their_own) {
    add_load(101);
    BOOST_TEST(!queue.has_soon());
    queue.add_load({PeerId{101}, 0}, true);
    BOOST_TEST(queue.has_soon());
    queue.end_round();
    BOOST_TEST(!queue.has_soon());
    BOOST_TEST(fill().loads.size() == 1U);
}

BOOST_AUTO_TEST_CASE(many_loads_that_matter_keep_their_own_packets) {
    for (std::uint64_t peer = 101; peer <= 101 + GossipQueue::loads_few; ++peer) add_load(peer);
    queue.add_load({PeerId{101}, 0}, true);
    queue.end_round();
    BOOST_TEST(queue.has_soon());
}

BOOST_AUTO_TEST_SUITE_END()
