#include "membership/outbox.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "parts.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using namespace exa::membership::samples;
using std::chrono::seconds;
using wire::PacketKind;

namespace {

const ClusterId cluster = cluster_id("test");
const LoadTable no_loads;

Outbox::Contents contents() {
    wire::Header header;
    header.cluster = cluster;
    header.sender = me;
    header.generation = Generation{1};
    header.record_version = 1;
    header.instance = 1;
    return {header, no_loads};
}

PacketOut gossip_to(std::uint64_t peer, bool with_record = false) {
    return {endpoint(peer), PeerId{peer}, make_packet(PacketKind::gossip, 0, PeerId{peer}), with_record};
}

wire::Packet next_packet(Outbox& outbox) {
    const auto transmit = outbox.poll_transmit();
    BOOST_REQUIRE(transmit.has_value());
    return wire::decode_packet(transmit->bytes, cluster).value();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(outbox)

BOOST_AUTO_TEST_CASE(packets_carry_updates_until_each_was_sent_often_enough) {
    Bench bench(3);
    Outbox outbox(start);
    outbox.updates().add_fact(PeerId{101});
    std::uint32_t sent = 0;
    for (int turn = 0; turn < 50; ++turn) {
        outbox.send(bench.step(), contents(), gossip_to(102));
        sent += static_cast<std::uint32_t>(next_packet(outbox).facts.size());
    }
    BOOST_TEST(sent == retransmits(bench.config, 4));
    BOOST_TEST(outbox.counts().packets == 50U);
}

BOOST_AUTO_TEST_CASE(a_receiver_that_we_suspect_is_told_so_that_it_can_refute) {
    Bench bench(3);
    Outbox outbox(start);
    bench.set_liveness(101, Liveness::suspect);
    outbox.send(bench.step(), contents(), gossip_to(101));
    BOOST_TEST(next_packet(outbox).facts == std::vector{bench.roster.fact(PeerId{101})});
    outbox.send(bench.step(), contents(), gossip_to(102));
    BOOST_TEST(next_packet(outbox).facts.empty());
}

BOOST_AUTO_TEST_CASE(an_introduction_brings_our_record_or_a_stub_of_one_too_big_for_a_packet) {
    for (const std::uint16_t replicas : {std::uint16_t{2}, std::uint16_t{250}}) {
        Bench bench(1);
        bench.roster = Roster(start, record(me.value, 1, replicas), 1, 100);
        Outbox outbox(start);
        outbox.send(bench.step(), contents(), gossip_to(101, true));
        const wire::Packet packet = next_packet(outbox);
        BOOST_TEST_REQUIRE(packet.records.size() == 1U);
        BOOST_TEST(packet.records[0].peer == me);
        BOOST_TEST(packet.records[0].replicas.size() == (replicas == 2 ? 2U : 0U));
        BOOST_TEST((packet.records[0].base == packet.records[0].version) == (replicas != 2));
    }
}

BOOST_AUTO_TEST_CASE(the_first_update_in_a_while_leaves_at_once_and_the_next_one_after_the_interval) {
    Bench bench(3);
    Outbox outbox(start - seconds{10});
    outbox.schedule(bench.step());
    BOOST_TEST(bench.timers.next() == time_never);
    outbox.updates().add_fact(PeerId{101});
    outbox.schedule(bench.step());
    BOOST_TEST(bench.timers.next() == start);
    bench.timers.clear();
    outbox.gossip(bench.step(), contents());
    outbox.schedule(bench.step());
    BOOST_TEST(bench.timers.next() == start + bench.config.gossip_interval);
}

BOOST_AUTO_TEST_CASE(loads_alone_wait_longer_than_facts) {
    Bench bench(3);
    Outbox outbox(start);
    outbox.updates().add_load({PeerId{101}, 0}, true);
    outbox.schedule(bench.step());
    BOOST_TEST(bench.timers.next() == start + bench.config.load_gossip_interval);
}

BOOST_AUTO_TEST_CASE(a_round_of_gossip_reaches_different_peers_and_sends_nothing_without_updates) {
    Bench bench(10);
    Outbox outbox(start);
    outbox.gossip(bench.step(), contents());
    BOOST_TEST(!outbox.poll_transmit().has_value());
    outbox.updates().add_fact(PeerId{101});
    BOOST_TEST(!outbox.gossip(bench.step(), contents()));
    std::set<PeerId> reached;
    while (const auto transmit = outbox.poll_transmit()) reached.insert(transmit->peer);
    BOOST_TEST(reached.size() == bench.config.gossip_fanout);
}

BOOST_AUTO_TEST_CASE(alone_a_peer_keeps_no_updates) {
    Bench bench(0);
    Outbox outbox(start);
    outbox.updates().add_fact(me);
    outbox.gossip(bench.step(), contents());
    BOOST_TEST(outbox.updates().empty());
}

BOOST_AUTO_TEST_CASE(a_backlog_of_records_is_better_brought_by_comparisons) {
    Bench bench(200);
    Outbox outbox(start);
    for (std::uint64_t id = 101; id < 301; ++id) outbox.updates().add_record(PeerId{id}, 0);
    BOOST_TEST(outbox.gossip(bench.step(), contents()));
}

BOOST_AUTO_TEST_CASE(link_messages_say_where_links_are_accepted_and_for_which_instance) {
    Bench bench(1);
    Outbox outbox(start);
    wire::Sync ping;
    ping.kind = wire::SyncKind::ping;
    outbox.send(bench.config, bench.roster, contents().header, {PeerId{101}, ping});
    outbox.send(bench.config, bench.roster, contents().header, {PeerId{300}, ping});
    const auto known = outbox.poll_sync();
    BOOST_TEST(known->link == endpoint(101));
    BOOST_TEST(known->generation == Generation{1});
    const auto unknown = outbox.poll_sync();
    BOOST_TEST(unknown->link == Endpoint{});
    BOOST_TEST(unknown->generation == Generation{});
    BOOST_TEST(outbox.counts().syncs == 2U);
}

BOOST_AUTO_TEST_CASE(outputs_that_nobody_fetches_are_bounded_and_the_oldest_goes_first) {
    Outbox outbox(start);
    for (std::uint64_t id = 1; id <= 65537; ++id) outbox.push({EventKind::alive, PeerId{id}, {}, {}, false, {}, 0});
    BOOST_TEST(outbox.counts().dropped == 1U);
    BOOST_TEST(outbox.poll_event()->peer == PeerId{2});
}

BOOST_AUTO_TEST_SUITE_END()
