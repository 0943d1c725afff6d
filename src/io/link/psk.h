// Psk: the secret that one dialler and one acceptor of an encrypted cluster share, and how the dialler names it.
//
// It is an external PSK of TLS 1.3 (RFC 8446 section 4.2.11, RFC 9257), derived from a cluster key for one ordered pair
// of peers: bytes that were meant for one peer, or sent by it, make no sense to any other, and a link cannot be
// reflected to where it came from. Every holder of the cluster key can derive every pair's, so it tells peers of the
// cluster from outsiders, not honest peers from others.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/cluster_key.h"
#include "base/crypto.h"
#include "base/ids.h"

namespace exa::io::link {

// Travels in the clear in the first packet of a handshake.
struct PskIdentity {
    KeyId key;
    PeerId initiator;
    PeerId acceptor;
    bool operator==(const PskIdentity&) const = default;
};

inline constexpr std::size_t psk_identity_size = 21;

// version u8 (1) | key u32 | initiator u64 | acceptor u64, little-endian.
std::array<std::uint8_t, psk_identity_size> encode_psk_identity(const PskIdentity& identity);

// Nothing unless `bytes` are exactly one identity of this version, with no id 0.
std::optional<PskIdentity> decode_psk_identity(ByteView bytes);

// HKDF-SHA-256 of the cluster key's secret, for this cluster and this pair.
Digest derive_psk(const Crypto& crypto, const KeySecret& secret, ClusterId cluster, const PskIdentity& identity);

}  // namespace exa::io::link
