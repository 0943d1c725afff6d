// Fixed messages with every field set: the golden vectors hold their bytes.
#pragma once

#include "wire/gossip.h"

namespace exa::wire::samples {

inline ReplicaRecord replica(std::uint16_t slot, std::string deployment = "chat") {
    ReplicaRecord record;
    record.id = {PeerId{0x1111222233334444}, deployment_id(deployment), slot};
    record.state = slot % 2 == 0 ? ReplicaState::ready : ReplicaState::warming;
    record.deployment = deployment;
    record.model = "smollm2-135m-instruct";
    record.version = "3";
    record.tenant_pool = "gold";
    record.role = "chat";
    record.numerics = "sha256:0badcafe/cpu-1";
    record.weight = 2;
    record.in_flight_limit = 16;
    record.context_tokens = 2048;
    return record;
}

inline PeerRecord record(std::uint16_t replicas = 3) {
    PeerRecord record;
    record.id = PeerId{0x1111222233334444};
    record.generation = Generation{7};
    record.version = 9;
    record.name = "node-1";
    record.state = PeerState::serving;
    record.gossip = *parse_endpoint("10.0.0.1:7946");
    record.link = *parse_endpoint("[2001:db8::1]:7947");
    record.http = *parse_endpoint("127.0.0.1:8000");
    record.region = "eu";
    record.rack = "r12";
    record.keys = {KeyId{0x00c0ffee}, KeyId{0xfeedface}};
    record.primary_key = KeyId{0xfeedface};
    record.kv_gib = 512;
    record.name_claim = 0x00030201;
    record.name_support = 258;
    for (std::uint16_t slot = 0; slot < replicas; ++slot) record.replicas.push_back(replica(slot));
    return record;
}

inline Header header() {
    return {cluster_id("golden"), PeerId{0x1111222233334444}, Generation{7}, Incarnation{2}, 9, 0xdeadbeef};
}

inline Fact fact() {
    return {PeerId{0x5555}, Generation{3}, Incarnation{1}, MemberState::suspect, PeerId{0x1111222233334444}};
}

inline RecordDelta whole() {
    const PeerRecord from = record();
    RecordDelta delta;
    delta.peer = from.id;
    delta.generation = from.generation;
    delta.instance = 0xdeadbeef;
    delta.incarnation = Incarnation{2};
    delta.version = from.version;
    delta.profile = profile_of(from);
    delta.replicas = from.replicas;
    return delta;
}

inline RecordDelta change() {
    RecordDelta delta = whole();
    delta.base = 8;
    delta.profile.reset();
    delta.replicas.resize(1);
    delta.removed = {{delta.peer, deployment_id("embed"), 4}};
    return delta;
}

inline LoadGroup loads() {
    LoadGroup group{PeerId{0x1111222233334444}, Generation{7}, 41, 1, std::chrono::milliseconds{250}, {}};
    for (std::uint16_t slot = 0; slot < 2; ++slot)
        group.reports.push_back({replica(slot).id, 3U + slot, 900, 512, group.age, 12, 5, 850, 47});
    return group;
}

inline Packet packet() {
    Packet packet;
    packet.header = header();
    packet.kind = PacketKind::ping_request;
    packet.want_record = true;
    packet.seq = 77;
    packet.target = PeerId{0x5555};
    packet.target_endpoint = *parse_endpoint("10.0.0.2:7946");
    packet.round = 12;
    packet.roster = 0xfade0001;
    packet.facts = {fact()};
    packet.records = {whole(), change()};
    packet.loads = {loads()};
    return packet;
}

inline Sync sync() {
    Sync sync;
    sync.header = header();
    sync.kind = SyncKind::digest;
    sync.more = true;
    sync.want_loads = true;
    sync.seq = 78;
    sync.first = PeerId{1};
    sync.last = PeerId{~std::uint64_t{0}};
    sync.digest = {{PeerId{0x5555}, Generation{3}, Incarnation{1}, MemberState::dead, 5},
                   {PeerId{0x6666}, Generation{1}, Incarnation{0}, MemberState::left, 2}};
    sync.facts = {fact()};
    sync.records = {change()};
    sync.loads = {loads()};
    sync.pulls = {{PeerId{0x7777}, Generation{1}, 4}};
    sync.keys_hash = 0x0123456789abcdef;
    return sync;
}

inline Sync keys() {
    KeySecret secret;
    for (std::size_t i = 0; i < secret.size(); ++i) secret[i] = static_cast<std::uint8_t>(i);
    Sync sync;
    sync.header = header();
    sync.kind = SyncKind::keys;
    sync.want_keys = true;
    sync.keys = {{{KeyId{0x00c0ffee}, 1, secret}, {KeyId{0xfeedface}, 6, std::nullopt}}, KeyId{0x00c0ffee}, 5};
    return sync;
}

inline Sync summary() {
    Sync sync;
    sync.header = header();
    sync.kind = SyncKind::summary;
    sync.seq = 79;
    sync.keys_hash = 0x0123456789abcdef;
    for (std::uint64_t part = 0; part < summary_parts; ++part) sync.summary.push_back(part << 56 | part);
    return sync;
}

// As they were before there were some fields: the vectors of that time must read so for good.
inline LoadGroup loads_before_limits() {
    LoadGroup before = loads();
    for (LoadReport& report : before.reports)
        report.in_flight_limit = report.queued = report.ttft_p99_ms = report.tbt_p99_ms = 0;
    return before;
}

inline Packet packet_before_names() {
    Packet before = packet();
    before.records[0].profile->name_claim = 0;
    before.records[0].profile->name_support = 0;
    return before;
}

inline Packet packet_before_kv() {
    Packet before = packet_before_names();
    before.records[0].profile->kv_gib = 0;
    return before;
}

inline Packet packet_before_limits() {
    Packet before = packet_before_kv();
    before.loads = {loads_before_limits()};
    return before;
}

inline Packet packet_before_rounds() {
    Packet before = packet_before_limits();
    before.round = before.roster = 0;
    return before;
}

inline Packet packet_before_keys() {
    Packet before = packet_before_rounds();
    before.records[0].profile->keys.clear();
    before.records[0].profile->primary_key = {};
    return before;
}

inline Sync sync_before_limits() {
    Sync before = sync();
    before.loads = {loads_before_limits()};
    return before;
}

inline Sync sync_before_keys() {
    Sync before = sync_before_limits();
    before.keys_hash = 0;
    return before;
}

}  // namespace exa::wire::samples
