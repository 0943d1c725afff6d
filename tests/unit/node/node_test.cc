#include "node/node.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(node_object)

using namespace exa;
using namespace std::chrono_literals;

namespace {

Endpoint endpoint(std::uint16_t port) {
    return *parse_endpoint("127.0.0.1:" + std::to_string(port));
}

wire::PeerRecord record(std::uint64_t id) {
    wire::PeerRecord record;
    record.id = PeerId{id};
    record.generation = Generation{1};
    record.name = "peer-" + std::to_string(id);
    record.state = wire::PeerState::starting;
    record.gossip = endpoint(static_cast<std::uint16_t>(1000 + id));
    record.link = endpoint(static_cast<std::uint16_t>(2000 + id));
    record.http = endpoint(static_cast<std::uint16_t>(3000 + id));
    record.region = "here";
    record.rack = "r" + std::to_string(id);
    return record;
}

wire::ReplicaRecord replica(std::uint64_t peer, std::uint16_t slot, wire::ReplicaState state) {
    wire::ReplicaRecord record;
    record.id = {PeerId{peer}, deployment_id("d"), slot};
    record.state = state;
    record.deployment = "d";
    record.model = "m";
    record.version = "v1";
    record.role = "chat";
    record.numerics = "n";
    record.in_flight_limit = 4;
    record.context_tokens = 100;
    return record;
}

// A few nodes on one virtual clock; datagrams and link messages arrive at once.
struct Cluster {
    explicit Cluster(std::size_t count) {
        for (std::uint64_t id = 1; id <= count; ++id)
            nodes.emplace(id, node::Node({.cluster = cluster_id("c"), .membership = {}}, record(id), 7 * id, now));
        for (auto& [id, one] : nodes) one.join(now, {endpoint(1001)});
        settle();
    }

    void settle() {
        for (bool busy = true; busy;) {
            busy = false;
            for (auto& [id, one] : nodes) {
                while (auto datagram = one.poll_transmit()) {
                    busy = true;
                    const auto to = nodes.find(datagram->to.port - 1000U);
                    if (to != nodes.end())
                        BOOST_TEST(to->second.handle_packet(now, record(id).gossip, datagram->bytes).has_value());
                }
                while (auto message = one.poll_sync()) {
                    busy = true;
                    const auto to = nodes.find(message->to.value);
                    if (to != nodes.end())
                        BOOST_TEST(to->second.handle_sync(now, PeerId{id}, message->bytes).has_value());
                }
                while (auto event = one.poll_event()) events[id].push_back(*event);
            }
        }
    }

    void run(Duration span) {
        for (const TimePoint end = now + span; now < end;) {
            TimePoint next = end;
            for (auto& [id, one] : nodes) next = std::min(next, one.next_timeout());
            now = std::max(now, next);
            for (auto& [id, one] : nodes)
                if (one.next_timeout() <= now) one.handle_timeout(now);
            settle();
        }
    }

    std::size_t ready_seen_by(std::uint64_t id) {
        std::size_t ready = 0;
        for (const router::Pool& pool : nodes.at(id).routing()->pools()) ready += pool.count;
        return ready;
    }

    TimePoint now{1h};
    std::map<std::uint64_t, node::Node> nodes;
    std::map<std::uint64_t, std::vector<membership::Event>> events;
};

}  // namespace

BOOST_AUTO_TEST_CASE(replica_reaches_every_routing_view_when_it_is_ready_and_not_before) {
    Cluster cluster(3);
    cluster.nodes.at(2).set_replica(cluster.now, replica(2, 0, wire::ReplicaState::warming));
    cluster.run(5s);
    for (std::uint64_t id = 1; id <= 3; ++id) BOOST_TEST(cluster.ready_seen_by(id) == 0U);
    cluster.nodes.at(2).set_replica(cluster.now, replica(2, 0, wire::ReplicaState::ready));
    cluster.run(5s);
    for (std::uint64_t id = 1; id <= 3; ++id) BOOST_TEST(cluster.ready_seen_by(id) == 1U);
}

BOOST_AUTO_TEST_CASE(replicas_stay_sorted_and_are_replaced_by_id) {
    Cluster cluster(1);
    node::Node& one = cluster.nodes.at(1);
    for (const std::uint16_t slot : std::vector<std::uint16_t>{2, 0, 1, 0})
        one.set_replica(cluster.now, replica(1, slot, wire::ReplicaState::ready));
    const auto& replicas = one.members()->find(PeerId{1})->record->replicas;
    BOOST_REQUIRE(replicas.size() == 3U);
    for (std::uint16_t slot = 0; slot < 3; ++slot) BOOST_TEST(replicas[slot].id.slot == slot);
}

BOOST_AUTO_TEST_CASE(views_are_the_same_objects_until_something_changes) {
    Cluster cluster(1);
    node::Node& one = cluster.nodes.at(1);
    const auto members = one.members();
    const auto routing = one.routing();
    BOOST_TEST(one.members() == members);
    BOOST_TEST(one.routing() == routing);
    one.set_replica(cluster.now, replica(1, 0, wire::ReplicaState::ready));
    BOOST_TEST(one.members() != members);
    BOOST_TEST(one.routing() != routing);
}

BOOST_AUTO_TEST_CASE(draining_peer_is_marked_in_every_routing_view) {
    Cluster cluster(2);
    cluster.nodes.at(1).set_replica(cluster.now, replica(1, 0, wire::ReplicaState::ready));
    cluster.run(3s);
    cluster.nodes.at(1).set_peer_state(cluster.now, wire::PeerState::draining);
    cluster.run(3s);
    const auto view = cluster.nodes.at(2).routing();
    for (const router::ReplicaEntry& entry : view->replicas()) BOOST_TEST(entry.draining);
    BOOST_TEST(view->replicas().size() <= 1U);
}

BOOST_AUTO_TEST_CASE(starting_peer_serves_once_it_has_joined) {
    Cluster cluster(2);
    cluster.run(3s);
    for (std::uint64_t id = 1; id <= 2; ++id)
        for (const auto& member : cluster.nodes.at(id).members()->members)
            BOOST_TEST(member->record->state == wire::PeerState::serving);
}

BOOST_AUTO_TEST_CASE(leaving_twice_is_leaving_and_orders_behind_it_change_nothing) {
    Cluster cluster(2);
    cluster.run(3s);
    node::Node& one = cluster.nodes.at(1);
    one.leave(cluster.now);
    one.leave(cluster.now);
    one.set_peer_state(cluster.now, wire::PeerState::serving);
    one.set_replica(cluster.now, replica(1, 0, wire::ReplicaState::ready));
    cluster.run(3s);
    const auto members = cluster.nodes.at(2).members();
    const membership::Member* left = members->find(PeerId{1});
    BOOST_REQUIRE(left != nullptr);
    BOOST_TEST(left->liveness == membership::Liveness::left);
    BOOST_TEST(left->record->replicas.empty());
}

BOOST_AUTO_TEST_SUITE_END()
