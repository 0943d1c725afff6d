#include <boost/test/unit_test.hpp>

#include "base/rng.h"
#include "samples.h"
#include "wire/gossip.h"

using namespace exa;
using namespace exa::wire;

BOOST_AUTO_TEST_SUITE(size_bound)

BOOST_AUTO_TEST_CASE(an_empty_message_stays_within_its_bound) {
    Packet packet;
    packet.header = {ClusterId{~std::uint64_t{0}}, PeerId{~std::uint64_t{0}}, Generation{~std::uint64_t{0} >> 1},
                     Incarnation{counter_max - 1}, counter_max - 1,           ~std::uint32_t{0}};
    packet.kind = PacketKind::ping_request;
    packet.want_record = true;
    packet.seq = packet.target.value = ~std::uint64_t{0};
    packet.target_endpoint.address.fill(255);
    packet.target_endpoint.port = 65535;
    BOOST_TEST(encode(packet).value().size() <= message_size_bound);
    Sync sync;
    sync.header = packet.header;
    sync.kind = SyncKind::updates;
    sync.more = sync.want_loads = true;
    sync.seq = sync.first.value = sync.last.value = ~std::uint64_t{0};
    BOOST_TEST(encode(sync).value().size() <= message_size_bound);
}

BOOST_AUTO_TEST_CASE(encoded_messages_stay_within_the_sum_of_their_items) {
    Rng rng(7);
    for (int round = 0; round < 500; ++round) {
        Packet packet;
        packet.header = samples::header();
        std::size_t bound = message_size_bound;
        for (std::uint64_t i = rng.below(10); i > 0; --i) {
            packet.facts.push_back({PeerId{rng.next() | 1}, Generation{rng.next() >> 1}, Incarnation{rng.next() >> 17},
                                    MemberState::suspect, PeerId{rng.next()}});
            bound += wire::size_bound(packet.facts.back());
        }
        for (std::uint64_t i = rng.below(2); i > 0; --i) {
            RecordDelta delta = samples::whole();
            delta.profile->name = std::string(rng.below(40), 'n');
            delta.replicas.clear();
            for (std::uint16_t slot = 0; slot < rng.below(12); ++slot) delta.replicas.push_back(samples::replica(slot));
            packet.records.push_back(delta);
            bound += wire::size_bound(delta);
        }
        for (std::uint64_t i = rng.below(2); i > 0; --i) {
            LoadGroup group = samples::loads();
            for (LoadReport& report : group.reports) {
                report.queued_tokens = static_cast<std::uint32_t>(rng.next());
                report.in_flight_limit = report.queued = static_cast<std::uint16_t>(rng.next());
                report.ttft_p99_ms = report.tbt_p99_ms = static_cast<std::uint16_t>(rng.next());
            }
            packet.loads.push_back(group);
            bound += wire::size_bound(group);
        }
        const std::size_t size = encode(packet).value().size();
        BOOST_TEST(size <= bound);
        // A bound that is far off wastes the datagram.
        BOOST_TEST(bound <= size + size / 2 + message_size_bound);
    }
}

BOOST_AUTO_TEST_CASE(link_messages_stay_within_the_sum_of_their_items) {
    Rng rng(8);
    Sync sync;
    sync.header = samples::header();
    sync.kind = SyncKind::digest;
    sync.last = PeerId{~std::uint64_t{0}};
    std::size_t bound = message_size_bound;
    for (std::uint64_t i = 1; i < 900; ++i) {
        sync.digest.push_back({PeerId{i << 50 | rng.next() >> 20}, Generation{rng.next() >> 1},
                               Incarnation{rng.below(9)}, MemberState::dead, rng.below(1000)});
        bound += wire::size_bound(sync.digest.back());
        sync.pulls.push_back({sync.digest.back().peer, Generation{rng.next() >> 1}, rng.below(1000)});
        bound += wire::size_bound(sync.pulls.back());
    }
    BOOST_TEST(encode(sync).value().size() <= bound);
}

BOOST_AUTO_TEST_SUITE_END()
