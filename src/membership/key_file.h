// Texts of key files, both for eyes of the operator and the peer only (mode 0600).
//
// The operator's file, the same on every peer: one key a line, 32 bytes as base64; empty lines and what stands behind #
// are ignored. The first key is primary in a cluster that has none yet.
//
// The peer's own file: the ring as it was last stored, with a checksum, since half a ring could cut the peer off:
//
//   exaserve-keys 1
//   key 1a2b3c4d 5 <base64>       installed by the change with stamp 5
//   key 5e6f7a8b 7 removed
//   primary 1a2b3c4d 6
//   end <16 hexadecimal digits>
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/cluster_key.h"
#include "base/crypto.h"
#include "base/result.h"
#include "wire/gossip.h"

namespace exa::membership {

// A line of the operator's file, with its end.
std::string format_key(const KeySecret& secret);
// errc::invalid_keys, naming the line. At least one key.
Result<std::vector<ClusterKey>> parse_key_file(const Crypto& crypto, std::string_view text);

std::string format_ring(const wire::Keys& keys);
// errc::invalid_keys: damaged, or of a later version.
Result<wire::Keys> parse_ring(std::string_view text);

}  // namespace exa::membership
