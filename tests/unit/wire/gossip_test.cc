#include "wire/gossip.h"
#include "support/print.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "base/rng.h"
#include "samples.h"
#include "wire/errc.h"

using namespace exa;
using namespace exa::wire;

namespace {

const ClusterId golden = cluster_id("golden");

Bytes vector_bytes(const std::string& name) {
    const char* tests = std::getenv("EXASERVE_TESTS");
    BOOST_REQUIRE_MESSAGE(tests != nullptr, "EXASERVE_TESTS names the tests folder");
    std::ifstream file(std::string(tests) + "/../proto/vectors/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gossip)

BOOST_AUTO_TEST_CASE(packet_bytes_are_the_golden_ones) {
    const Bytes bytes = encode(samples::packet()).value();
    BOOST_TEST(to_hex(bytes) == to_hex(vector_bytes("packet_6.bin")));
    BOOST_TEST(decode_packet(vector_bytes("packet_6.bin"), golden).value() == samples::packet());
}

BOOST_AUTO_TEST_CASE(sync_bytes_are_the_golden_ones) {
    const Bytes bytes = encode(samples::sync()).value();
    BOOST_TEST(to_hex(bytes) == to_hex(vector_bytes("sync_4.bin")));
    BOOST_TEST(decode_sync(vector_bytes("sync_4.bin"), golden).value() == samples::sync());
    const Bytes keys = encode(samples::keys()).value();
    BOOST_TEST(to_hex(keys) == to_hex(vector_bytes("keys_3.bin")));
    BOOST_TEST(decode_sync(vector_bytes("keys_3.bin"), golden).value() == samples::keys());
    const Bytes summary = encode(samples::summary()).value();
    BOOST_TEST(to_hex(summary) == to_hex(vector_bytes("summary_1.bin")));
    BOOST_TEST(decode_sync(vector_bytes("summary_1.bin"), golden).value() == samples::summary());
}

BOOST_AUTO_TEST_CASE(golden_bytes_still_read_as_they_did) {
    BOOST_TEST(decode_packet(vector_bytes("packet_5.bin"), golden).value() == samples::packet_before_names());
    BOOST_TEST(decode_packet(vector_bytes("packet_4.bin"), golden).value() == samples::packet_before_kv());
    BOOST_TEST(decode_packet(vector_bytes("packet_3.bin"), golden).value() == samples::packet_before_limits());
    BOOST_TEST(decode_packet(vector_bytes("packet_2.bin"), golden).value() == samples::packet_before_rounds());
    BOOST_TEST(decode_packet(vector_bytes("packet_1.bin"), golden).value() == samples::packet_before_keys());
    BOOST_TEST(decode_sync(vector_bytes("sync_3.bin"), golden).value() == samples::sync());
    BOOST_TEST(decode_sync(vector_bytes("sync_2.bin"), golden).value() == samples::sync_before_limits());
    BOOST_TEST(decode_sync(vector_bytes("keys_2.bin"), golden).value() == samples::keys());
    BOOST_TEST(decode_sync(vector_bytes("keys_1.bin"), golden).value() == samples::keys());
    BOOST_TEST(decode_sync(vector_bytes("sync_1.bin"), golden).value() == samples::sync_before_keys());
}

BOOST_AUTO_TEST_CASE(more_keys_than_a_ring_holds_are_refused) {
    Sync longer = samples::keys();
    for (std::uint32_t id = 1; id < keys_held_max; ++id)
        longer.keys.entries.insert(longer.keys.entries.begin() + id - 1, KeyEntry{KeyId{id}, 1, KeySecret{}});
    BOOST_TEST(encode(longer).has_value());
    longer.keys.entries.push_back({KeyId{0xffffffff}, 1, KeySecret{}});
    BOOST_TEST(encode(longer).error().code == errc::oversized);
}

BOOST_AUTO_TEST_CASE(keys_out_of_order_or_without_an_id_are_refused) {
    Sync keys = samples::keys();
    std::swap(keys.keys.entries[0], keys.keys.entries[1]);
    BOOST_TEST(encode(keys).error().code == errc::malformed);
    keys = samples::keys();
    keys.keys.entries[0].id = {};
    BOOST_TEST(encode(keys).error().code == errc::malformed);
    keys = samples::keys();
    keys.keys.entries[0].stamp = counter_max + 1;
    BOOST_TEST(encode(keys).error().code == errc::malformed);
}

BOOST_AUTO_TEST_CASE(a_whole_record_of_twelve_like_replicas_leaves_room_in_a_datagram) {
    Packet packet;
    packet.header = samples::header();
    RecordDelta delta = samples::whole();
    delta.replicas = samples::record(12).replicas;
    packet.records = {delta};
    const Bytes bytes = encode(packet).value();
    BOOST_TEST(bytes.size() < 500U);
    BOOST_TEST(decode_packet(bytes, golden).value() == packet);
}

BOOST_AUTO_TEST_CASE(replicas_of_interleaved_deployments_keep_their_order) {
    RecordDelta delta = samples::whole();
    delta.replicas.clear();
    for (std::uint16_t slot = 0; slot < 6; ++slot)
        delta.replicas.push_back(samples::replica(slot, "d" + std::to_string(slot % 2)));
    std::ranges::sort(delta.replicas, {}, &ReplicaRecord::id);
    delta.replicas[1].weight = 9;
    Packet packet = samples::packet();
    packet.records = {delta};
    BOOST_TEST(decode_packet(encode(packet).value(), golden).value() == packet);
}

BOOST_AUTO_TEST_CASE(another_cluster_is_refused_by_name) {
    const Bytes bytes = encode(samples::packet()).value();
    BOOST_TEST(decode_packet(bytes, cluster_id("other")).error().code == errc::wrong_cluster);
    BOOST_TEST(decode_sync(encode(samples::sync()).value(), cluster_id("other")).error().code == errc::wrong_cluster);
}

BOOST_AUTO_TEST_CASE(too_big_a_packet_is_not_encoded) {
    Packet packet = samples::packet();
    for (std::uint64_t i = 0; i < 60; ++i) {
        Fact fact = samples::fact();
        fact.subject = PeerId{0x1122334455667788 + i};
        packet.facts.push_back(fact);
    }
    BOOST_TEST(encode(packet).error().code == errc::too_big_to_send);
}

BOOST_AUTO_TEST_CASE(every_truncation_is_an_error) {
    const Bytes packet = encode(samples::packet()).value();
    const Bytes sync = encode(samples::sync()).value();
    for (std::size_t size = 0; size < packet.size(); ++size)
        BOOST_TEST(!decode_packet(ByteView(packet).first(size), golden).has_value(), "packet of " << size << " bytes");
    for (std::size_t size = 0; size < sync.size(); ++size)
        BOOST_TEST(!decode_sync(ByteView(sync).first(size), golden).has_value(), "sync of " << size << " bytes");
}

BOOST_AUTO_TEST_CASE(bytes_behind_a_message_are_an_error) {
    Bytes bytes = encode(samples::packet()).value();
    bytes.push_back(0);
    BOOST_TEST(!decode_packet(bytes, golden).has_value());
}

BOOST_AUTO_TEST_CASE(oversized_input_is_refused_before_it_is_read) {
    BOOST_TEST(decode_packet(Bytes(packet_bytes_max + 1), golden).error().code == errc::oversized);
    BOOST_TEST(decode_sync(Bytes(sync_bytes_max + 1), golden).error().code == errc::oversized);
}

BOOST_AUTO_TEST_CASE(a_bomb_of_packed_zeros_is_refused) {
    // Each pair is 256 words of zeros: 1,300 bytes ask for 1.3 MB.
    Bytes bomb = {0x11, 0x00, 0xff};
    while (bomb.size() + 2 <= packet_bytes_max) bomb.insert(bomb.end(), {0x00, 0xff});
    BOOST_TEST(!decode_packet(bomb, golden).has_value());
}

BOOST_AUTO_TEST_CASE(random_and_damaged_bytes_never_crash_and_what_decodes_is_encodable) {
    Rng rng(1);
    const std::array<Bytes, 3> originals = {encode(samples::packet()).value(), encode(samples::sync()).value(),
                                            encode(samples::keys()).value()};
    int decoded = 0;
    for (int round = 0; round < 4000; ++round) {
        Bytes noise(rng.below(300));
        for (auto& byte : noise) byte = static_cast<std::uint8_t>(rng.next());
        BOOST_TEST(!decode_packet(noise, golden).has_value());
        Bytes damaged = originals[static_cast<std::size_t>(round) % originals.size()];
        for (std::uint64_t flips = 1 + rng.below(3); flips > 0; --flips)
            damaged[rng.below(damaged.size())] = static_cast<std::uint8_t>(rng.next());
        if (const auto packet = decode_packet(damaged, golden); packet.has_value()) {
            ++decoded;
            BOOST_TEST(encode(packet.value()).has_value());
        }
        if (const auto sync = decode_sync(damaged, golden); sync.has_value()) {
            ++decoded;
            BOOST_TEST(encode(sync.value()).has_value());
        }
    }
    BOOST_TEST(decoded > 0);
}

BOOST_AUTO_TEST_SUITE_END()
