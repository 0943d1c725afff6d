// Strong ids. A bare integer never names a thing of the cluster.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace exa {

// Random, made once, kept in the peer's data directory. 0 is no peer.
struct PeerId {
    std::uint64_t value = 0;
    auto operator<=>(const PeerId&) const = default;
};

// Grows with every boot of a peer and is persisted before use: (PeerId, Generation) names one instance of a peer.
struct Generation {
    std::uint64_t value = 0;
    auto operator<=>(const Generation&) const = default;
};

// Grows within one generation when a peer refutes a suspicion (SWIM, Das et al. 2002, section 4.2).
struct Incarnation {
    std::uint64_t value = 0;
    auto operator<=>(const Incarnation&) const = default;
};

// hash64 of the deployment's name.
struct DeploymentId {
    std::uint64_t value = 0;
    auto operator<=>(const DeploymentId&) const = default;
};

// Without generation: a restart of the peer brings back the same replica ids, so the ring does not move.
struct ReplicaId {
    PeerId peer;
    DeploymentId deployment;
    std::uint16_t slot = 0;
    auto operator<=>(const ReplicaId&) const = default;
};

// Guards against packets of another cluster on a recycled address. hash64 of the cluster's name.
struct ClusterId {
    std::uint64_t value = 0;
    auto operator<=>(const ClusterId&) const = default;
};

// 16 lower-case hexadecimal digits.
std::string to_string(PeerId id);

// "<peer>.<deployment>.<slot>": 16 hexadecimal digits, 16 hexadecimal digits, decimal.
std::string to_string(const ReplicaId& id);

std::optional<PeerId> parse_peer_id(std::string_view text);
std::optional<ReplicaId> parse_replica_id(std::string_view text);

DeploymentId deployment_id(std::string_view name);
ClusterId cluster_id(std::string_view name);

}  // namespace exa
