// The sealed form of a segment: what a disk keeps and what peers pass on, byte for byte the same everywhere.
//
//   offset  size
//        0    16  MAC: AES-256-GMAC over everything after it
//       16     8  magic "exa-kvs\1", the last byte being the version of this format
//       24     4  size of this header (192)
//       28     4  kind
//       32    32  key
//       64    32  parent key; of a value, zero
//       96     8  stamp: of a value, when it was written (hybrid logical clock); of a segment, 0
//      104     8  tenant (kv::tenant_tag)
//      112     8  length of the payload
//      120     8  XXH3-64 of the payload: anybody can check it
//      128    12  nonce
//      140     4  tokens
//      144     8  expiry: of a value, Unix seconds; 0 is never
//      152    40  zero
//      192        payload
//
// Integers are little-endian. The MAC's key is HKDF(root secret, segment key), one for each segment key, so that a
// random nonce of 96 bits is never near its birthday; GMAC, because HMAC-SHA-256 would be slower than the network.
// Every byte is under the MAC or is the MAC, so whatever changed, was cut off or stands under another key is refused. A
// miss is legal, a wrong block never is: callers treat each refusal as a miss.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/crypto.h"
#include "base/mutant.h"
#include "base/result.h"
#include "kv/segment_buffer.h"
#include "kv/segment_key.h"

namespace exa::kv {

inline constexpr std::size_t segment_header_size = 192;
inline constexpr std::size_t segment_payload_max = std::size_t{64} << 20;

enum class SegmentKind : std::uint32_t {
    segment = 0,    // KV cache, named by its content: two under one key are the same
    value = 1,      // of the Redis port: the later stamp wins
    tombstone = 2,  // of the Redis port: a value that was deleted; no payload
};

struct SegmentHead {
    SegmentKey key;
    SegmentKey parent;
    std::uint64_t stamp = 0;
    std::uint64_t tenant = 0;
    std::uint64_t payload_size = 0;  // bytes
    std::uint64_t checksum = 0;      // of the payload
    AeadNonce nonce{};
    std::uint32_t tokens = 0;
    std::uint64_t expires_s = 0;  // Unix time; 0 is never
    SegmentKind kind = SegmentKind::segment;
    bool operator==(const SegmentHead&) const = default;
};

// The header, with its form and the length checked, but neither checksum nor seal: cheap, for choosing and counting.
// errc::malformed otherwise.
Result<SegmentHead> parse_segment(ByteView sealed);

// Whether a segment can have that sealed size: what a peer may be asked to make room for.
constexpr bool is_valid_sealed_size(std::uint64_t bytes) {
    return bytes >= segment_header_size && bytes - segment_header_size <= segment_payload_max;
}

inline ByteView payload_of(ByteView sealed) {
    return sealed.subspan(segment_header_size);
}

// Seals and verifies. Stateless except for the key: any number of threads at a time.
class SegmentSealer {
  public:
    // `crypto` outlives the sealer.
    SegmentSealer(const Crypto& crypto, ByteView root_secret, Mutant mutant = Mutant::none);

    // Writes the header in front of a payload that is in `buffer` already, after segment_header_size bytes: nothing is
    // copied. Computes the size and the checksum of `head`. The nonce must be fresh and random for each call.
    void seal(const SegmentHead& head, SegmentBuffer& buffer) const;

    // Succeeds if the segment was sealed with this secret, under this key, and is unchanged. The MAC alone decides
    // that, in about 0.17 ms a megabyte; the checksum only tells whether a refused segment was changed or sealed
    // elsewhere.
    Result<SegmentHead> verify(const SegmentKey& expected, ByteView sealed) const;

  private:
    std::unique_ptr<Aead> aead_for(const SegmentKey& key) const;

    const Crypto* crypto_;
    Digest mac_secret_;
    Mutant mutant_;
};

}  // namespace exa::kv
