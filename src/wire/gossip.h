// Membership messages <-> bytes, as Cap'n Proto in its packed form (proto/gossip.capnp).
//
// Decoding takes bytes of an unknown sender: sizes, depths, list lengths, texts, enumerators and numbers are bounded
// here, so that the core behind it only ever sees valid values. It either yields the whole message or an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/cluster_key.h"
#include "base/endpoint.h"
#include "base/ids.h"
#include "base/mutant.h"
#include "base/result.h"
#include "base/time.h"
#include "wire/records.h"

namespace exa::wire {

// A datagram on the network: below the smallest MTU in the field, headers of IPv6 and UDP included.
inline constexpr std::size_t datagram_bytes_max = 1400;
// Room in it for the seal (key number, generation, counter, tag), which is put on outside of this file.
inline constexpr std::size_t seal_bytes_max = 64;
inline constexpr std::size_t packet_bytes_max = datagram_bytes_max - seal_bytes_max;
inline constexpr std::size_t sync_bytes_max = 256 * 1024;

inline constexpr std::size_t text_bytes_max = 128;  // of every text in a record
inline constexpr std::size_t replicas_max = 256;    // of one peer
// Of one record, by size_bound: it and what goes with it must fit in one link message.
inline constexpr std::size_t record_bytes_max = 128 * 1024;
inline constexpr std::size_t load_group_max = 8;  // reports in one LoadGroup
inline constexpr std::size_t digest_entries_max = 1024;
inline constexpr std::size_t keys_held_max = 16;     // by one peer
inline constexpr std::size_t keys_removed_max = 16;  // remembered, so that they do not come back
// 2^48 refutations or versions take longer than any cluster lives; more is a forgery or damage.
inline constexpr std::uint64_t counter_max = std::uint64_t{1} << 48;

// A name changes hands less often than that; more is a forgery or damage.
inline constexpr std::uint32_t name_claim_max = std::uint32_t{1} << 24;

// What travels about a peer's liveness. Order matters: of one incarnation the later state wins.
enum class MemberState : std::uint8_t { alive, suspect, dead, left };

struct Header {
    ClusterId cluster;
    PeerId sender;
    Generation generation;
    Incarnation incarnation;
    std::uint64_t record_version = 0;
    std::uint32_t instance = 0;  // random at each start, never 0: tells a peer from a clone of its data directory
    bool operator==(const Header&) const = default;
};

// An update about a peer's liveness.
struct Fact {
    PeerId subject;
    Generation generation;
    Incarnation incarnation;
    MemberState state = MemberState::alive;
    PeerId accuser;  // of suspect and dead
    bool operator==(const Fact&) const = default;
};

// All of a record but its replicas.
struct PeerProfile {
    std::string name;
    PeerState state = PeerState::starting;
    Endpoint gossip;
    Endpoint link;
    Endpoint http;
    std::string region;
    std::string rack;
    std::vector<KeyId> keys;  // sorted
    KeyId primary_key;
    std::uint16_t kv_gib = 0;
    std::uint32_t name_claim = 0;
    std::uint16_t name_support = 0;
    bool operator==(const PeerProfile&) const = default;
};

// Every part of a record that changed in (base, version]: it turns any version in [base, version) into `version`.
// base 0 is the whole record; base == version is a stub of which version the sender holds, with or without the profile.
struct RecordDelta {
    PeerId peer;
    Generation generation;
    std::uint32_t instance = 0;
    Incarnation incarnation;
    std::uint64_t base = 0;
    std::uint64_t version = 0;
    std::optional<PeerProfile> profile;
    std::vector<ReplicaRecord> replicas;  // sorted by id, all of `peer`
    std::vector<ReplicaId> removed;       // sorted, all of `peer`
    bool operator==(const RecordDelta&) const = default;
};

struct LoadGroup {
    PeerId peer;
    Generation generation;
    std::uint64_t number = 0;         // grows with every report of this instance
    std::uint16_t part = 0;           // a peer's replicas by id, cut into groups of load_group_max: which one this is
    Duration age{0};                  // of every report in it; whole milliseconds travel
    std::vector<LoadReport> reports;  // their own `age` is not sent and comes back as the group's
    bool operator==(const LoadGroup&) const = default;
};

enum class PacketKind : std::uint8_t { ping, ack, nack, ping_request, gossip };

struct Packet {
    Header header;
    PacketKind kind = PacketKind::gossip;
    bool want_record = false;  // the sender does not know the receiver: send your record
    bool cannot_link = false;  // the sender can open no link to the receiver
    std::uint64_t seq = 0;
    PeerId target;             // ping, ping_request: who is meant, 0 for whoever is there; ack, nack: about whom
    Endpoint target_endpoint;  // ping_request
    std::uint32_t round = 0;   // ping: the sender's probe round
    std::uint32_t roster = 0;  // ping: hash of what the sender knows of live peers, 0: not said
    std::vector<Fact> facts;
    std::vector<RecordDelta> records;
    std::vector<LoadGroup> loads;
    bool operator==(const Packet&) const = default;
};

struct DigestEntry {
    PeerId peer;
    Generation generation;
    Incarnation incarnation;
    MemberState state = MemberState::alive;
    std::uint64_t version = 0;
    bool operator==(const DigestEntry&) const = default;
};

struct Pull {
    PeerId peer;
    Generation generation;
    std::uint64_t version = 0;  // held by the asker; 0: nothing
    bool operator==(const Pull&) const = default;
};

struct KeyEntry {
    KeyId id;
    std::uint64_t stamp = 0;          // of the change that made it so
    std::optional<KeySecret> secret;  // nothing: removed
    bool operator==(const KeyEntry&) const = default;
};

// A key ring as it travels, over sealed links only.
struct Keys {
    std::vector<KeyEntry> entries;  // sorted by id
    KeyId primary;
    std::uint64_t primary_stamp = 0;
    bool operator==(const Keys&) const = default;
};

// Of each part of the id space by its high bits, a hash of what its sender knows of the peers in it: two that agree
// compare themselves in so many numbers (as replicas do by Merkle trees, of which these are the leaves).
inline constexpr std::size_t summary_parts = 64;

enum class SyncKind : std::uint8_t { ping, ack, digest, updates, keys, summary };

struct Sync {
    Header header;
    SyncKind kind = SyncKind::ping;
    bool more = false;        // updates: the answer goes on in the next message
    bool want_loads = false;  // digest, summary
    std::uint64_t seq = 0;    // updates: the digest or summary they answer, or 0
    PeerId first;             // digest: it lists every peer its sender knows with an id in [first, last]
    PeerId last;
    std::vector<DigestEntry> digest;
    std::vector<Fact> facts;
    std::vector<RecordDelta> records;
    std::vector<LoadGroup> loads;
    std::vector<Pull> pulls;
    std::uint64_t keys_hash = 0;         // digest, summary: of the sender's key ring; 0 when it is not sealed
    bool want_keys = false;              // keys: send yours when it says more
    Keys keys;                           // keys
    std::vector<std::uint64_t> summary;  // summary: summary_parts of them; other kinds: none
    bool operator==(const Sync&) const = default;
};

// errc::too_big_to_send above packet_bytes_max or sync_bytes_max, errc::malformed for what decode would refuse.
Result<Bytes> encode(const Packet& packet);
Result<Bytes> encode(const Sync& sync);

// A message of another cluster or major version is an error of its own, found before the rest is looked at.
Result<Packet> decode_packet(ByteView bytes, ClusterId cluster, Mutant mutant = Mutant::none);
Result<Sync> decode_sync(ByteView bytes, ClusterId cluster);

// What a record may hold: lengths, no control characters, replicas sorted, of the peer itself, at most replicas_max.
Result<void> check_record(const PeerRecord& record);

PeerProfile profile_of(const PeerRecord& record);

// Upper bounds of what an item adds to an encoded message, for filling packets.
std::size_t size_bound(const Fact& fact);
std::size_t size_bound(const RecordDelta& delta);
std::size_t size_bound(const LoadGroup& group);
std::size_t size_bound(const DigestEntry& entry);
std::size_t size_bound(const Pull& pull);
// Of a Packet or Sync without any item.
inline constexpr std::size_t message_size_bound = 160;

}  // namespace exa::wire
