// What a peer tells the cluster about itself. A record has one writer, its peer; (peer, generation, version) orders its
// versions and the last one wins.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cluster_key.h"
#include "base/endpoint.h"
#include "base/ids.h"
#include "base/time.h"

namespace exa::wire {

// Both ends must agree on the major part; a newer minor part only adds fields.
inline constexpr std::uint16_t wire_version_major = 1;
inline constexpr std::uint16_t wire_version_minor = 1;

// Lifecycle of a replica (docs/glossary.md). Only `ready` owns points on the ring.
enum class ReplicaState : std::uint8_t { created, loading, warming, ready, draining, stopped, degraded, failed };

struct ReplicaRecord {
    ReplicaId id;
    ReplicaState state = ReplicaState::created;
    std::string deployment;             // its name; the id holds the hash
    std::string model;                  // as clients name it
    std::string version;                // of the deployment
    std::string tenant_pool;            // empty: shared by all tenants
    std::string role;                   // "chat", "embed"
    std::string numerics;               // equal strings: bit-equal answers (model digest, kernel family)
    std::uint32_t weight = 1;           // ring points are 64 x weight
    std::uint32_t in_flight_limit = 0;  // at most; enforced by the replica itself, which may admit less (LoadReport)
    std::uint32_t context_tokens = 0;   // longest prompt plus answer
    bool operator==(const ReplicaRecord&) const = default;
};

// What the peer itself declares; suspicion and death are the observers' opinion and not part of the record.
enum class PeerState : std::uint8_t { starting, serving, draining, leaving };

struct PeerRecord {
    PeerId id;
    Generation generation;
    std::uint64_t version = 0;  // of this record, from 1
    std::string name;           // unique in the cluster while its holder is alive
    PeerState state = PeerState::starting;
    Endpoint gossip;  // UDP, advertised
    Endpoint link;    // TCP, advertised
    Endpoint http;    // TCP, advertised
    std::string region;
    std::string rack;
    // What it holds on its disk, sorted, and seals with; nothing and 0 in a cluster that is not encrypted.
    std::vector<KeyId> keys;
    KeyId primary_key;
    std::uint32_t name_claim = 0;         // membership/name_claim.h; 0: it does not hold its name
    std::uint16_t name_support = 0;       // peers that it knew alive, itself included, at a recent time
    std::uint16_t kv_gib = 0;             // KV cache that it keeps for the cluster: its weight as an owner; 0: none
    std::vector<ReplicaRecord> replicas;  // sorted by id
    bool operator==(const PeerRecord&) const = default;
};

// Load of one replica as its peer measured it; `age` grows with every hop it travels.
struct LoadReport {
    ReplicaId replica;
    std::uint32_t in_flight = 0;
    std::uint32_t queued_tokens = 0;
    std::uint16_t kv_used_permille = 0;
    Duration age{0};
    std::uint16_t in_flight_limit = 0;  // what the replica admits at present; 0: as its record says
    std::uint16_t queued = 0;           // requests that wait for a permit
    std::uint16_t ttft_p99_ms = 0;      // time to first token of recent answers; 0: unknown
    std::uint16_t tbt_p99_ms = 0;       // time between tokens of recent answers; 0: unknown
    bool operator==(const LoadReport&) const = default;
};

}  // namespace exa::wire
