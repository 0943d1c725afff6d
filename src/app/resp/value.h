// How a value of the Redis port lies in segments.
//
// A value is cut into parts of at most resp_part_bytes_max bytes. The first part stands under the key of the value, and
// its payload begins with what belongs to all of it:
//
//   offset  size
//        0     8  "exa-rsp\1"
//        8     4  length of the user's key
//       12     4  number of parts
//       16     8  bytes of the value
//       24     8  expiry, Unix milliseconds; 0 is never
//       32        the user's key, then the first bytes of the value
//
// The others are the value's bytes alone, under keys that follow from the first and the stamp: parts of two writes
// never meet. A reader of a value has all parts of one stamp, or nothing.
//
// Owners follow from a key's first eight bytes (kv::placement). These are a hash of the user key's *stem*: what is left
// without the ending that tells apart the two keys under which LMCache keeps one chunk ("kv_bytes", "metadata"). So all
// parts of a value have the same owners, and those of its twin.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/crypto.h"
#include "kv/segment.h"

namespace exa::app::resp {

inline constexpr std::uint64_t resp_part_bytes_max = 8ull << 20;

struct RespValueHead {
    std::string_view key;  // into the payload
    std::uint32_t parts = 1;
    std::uint64_t bytes = 0;
    std::int64_t expires_ms = 0;
    ByteView data;  // the value's bytes in this payload
};

constexpr std::size_t resp_head_size(std::size_t key_bytes) {
    return 32 + key_bytes;
}

// Into the first resp_head_size(head.key.size()) bytes.
void write_resp_head(const RespValueHead& head, std::span<std::uint8_t> payload);
// Nothing for what is no first part.
std::optional<RespValueHead> read_resp_head(ByteView payload);

// The whole key when there is nothing before the ending.
std::string_view resp_stem(std::string_view user_key);
// Behind the eight bytes of the stem, of SHA-256 of the tenant's salt and the user's key, apart from all keys of KV.
exa::kv::SegmentKey resp_key(const Crypto& crypto, const Digest& tenant_salt, std::string_view user_key);
// Of a part but the first; for the first, `first`.
exa::kv::SegmentKey resp_part_key(const Crypto& crypto, const exa::kv::SegmentKey& first, std::uint64_t stamp,
                                  std::uint32_t part);

}  // namespace exa::app::resp
