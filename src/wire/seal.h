// The seal around a gossip packet: AES-256-GCM under a key of the sender's own instance, with a counter for a nonce.
//
//   mark u8 | key id u32 | sender u64 | generation u64 | instance u32 | counter u64 | ciphertext | tag 16
//   (big-endian; everything before the ciphertext is the associated data)
//
// Subkey = HKDF(cluster key; salt: label and cluster id; info: sender, generation, instance). The generation grows with
// every start and `instance` is drawn at each, so that neither a restart nor a cloned data directory meets a subkey
// twice: within one instance the counter alone keeps nonces apart, and no chance is asked for (NIST SP 800-38D,
// section 8.2.1). A receiver remembers which counters it has seen in a sliding window (RFC 6479).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/cluster_key.h"
#include "base/crypto.h"
#include "base/ids.h"
#include "base/result.h"
#include "wire/gossip.h"

namespace exa::wire {

// A plain packet never starts with it: as the first byte of Cap'n Proto's packing it would announce a message of more
// than 2^24 words.
inline constexpr std::uint8_t seal_mark = 0xec;
inline constexpr std::size_t seal_header_bytes = 1 + 4 + 8 + 8 + 4 + 8;
static_assert(seal_header_bytes + aead_tag_size <= seal_bytes_max);

struct SealHeader {
    KeyId key;
    PeerId sender;
    Generation generation;
    std::uint32_t instance = 0;
    std::uint64_t counter = 0;  // from 1
    bool operator==(const SealHeader&) const = default;
};

// Whether it claims to be sealed; nothing else is known of it then.
bool is_sealed(ByteView packet);

// What anyone may read. errc::not_sealed, errc::truncated.
Result<SealHeader> decode_seal_header(ByteView packet);

// Of one instance, by the key they come from: the last used first, a few.
using Subkeys = std::vector<std::pair<KeyId, std::unique_ptr<Aead>>>;

// Seals the packets of one instance of one peer.
class Sealer {
  public:
    // `crypto` outlives it. `counters_max` is lowered by tests only.
    Sealer(const Crypto& crypto, ClusterId cluster, PeerId sender, Generation generation, std::uint32_t instance,
           std::uint64_t counters_max = counter_max);

    // errc::seal_used_up: after 2^48 packets nothing is sealed any more, since a nonce must never come twice.
    Result<Bytes> seal(const ClusterKey& key, ByteView plain);

  private:
    Aead& subkey(const ClusterKey& key);

    const Crypto& crypto_;
    const ClusterId cluster_;
    SealHeader header_;  // of the packet before
    const std::uint64_t counters_max_;
    Subkeys subkeys_;
};

// Which of the last counters were seen. A set bit is a counter that came; those below the window count as seen.
class ReplayWindow {
  public:
    static constexpr std::uint64_t window = 1024;

    bool is_fresh(std::uint64_t counter) const;
    void take(std::uint64_t counter);

  private:
    // One word more than the window, so that moving it clears whole words.
    static constexpr std::size_t words = window / 64 + 1;

    std::uint64_t last_ = 0;
    std::array<std::uint64_t, words> seen_{};
};

struct OpenedPacket {
    SealHeader header;
    Bytes plain;
};

// Opens the packets of everyone who holds a key, each once. Garbage costs one HKDF and one GCM at most and leaves
// nothing behind: a sender has an entry only once a packet of it was authentic, and the least recently heard goes
// first.
//
// What a sender's earlier instances sent must not open again either, so their windows stay. Of more than instances_max
// instances the oldest are forgotten and nothing of their generations is opened any more. One window serves all keys,
// which share the sender's counter: so a rotation costs no entry, and a key that comes back brings nothing back with
// it.
class Opener {
  public:
    static constexpr std::size_t instances_max = 16;

    // `crypto` outlives it. An entry takes about 1 KiB, and 200 bytes for each earlier instance.
    Opener(const Crypto& crypto, ClusterId cluster, std::size_t senders_max = 8192);

    // The keys whose packets are opened from now on.
    void set_keys(std::span<const ClusterKey> keys);

    // errc::not_sealed, truncated, oversized, unknown_key, replayed, not_authentic. Nothing changed then.
    Result<OpenedPacket> open(ByteView packet);

    std::size_t senders() const { return senders_.size(); }

  private:
    struct Instance {
        Generation generation;
        std::uint32_t instance = 0;
        ReplayWindow seen;
        Subkeys subkeys;
    };
    struct Sender {
        PeerId peer;
        std::vector<Instance> instances;
        Generation closed;  // of forgotten instances, the latest
    };
    using Senders = std::list<Sender>;

    Instance& keep(const SealHeader& header);

    const Crypto& crypto_;
    const ClusterId cluster_;
    const std::size_t senders_max_;
    std::vector<ClusterKey> keys_;
    Senders senders_;  // the last heard first
    std::map<PeerId, Senders::iterator> by_peer_;
};

}  // namespace exa::wire
