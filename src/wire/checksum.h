// The checksum behind a plaintext gossip packet: the last four bytes, little-endian, are the low half of hash64 of what
// stands before them.
//
// UDP's own checksum is 16 bits, and often left to a network card. A flipped bit in an id, a generation or a name is a
// valid packet about somebody else. Encrypted packets carry a tag instead (wire/seal.h).
#pragma once

#include <cstddef>

#include "base/bytes.h"
#include "base/result.h"
#include "wire/gossip.h"

namespace exa::wire {

inline constexpr std::size_t checksum_bytes = 4;
static_assert(checksum_bytes <= seal_bytes_max);

Bytes add_checksum(Bytes packet);
// The packet, a part of `bytes`. errc::damaged, errc::truncated.
Result<ByteView> check_checksum(ByteView bytes);

}  // namespace exa::wire
