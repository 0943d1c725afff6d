// hash64: the one non-cryptographic hash of the project (XXH3, https://xxhash.com), the same on every machine.
//
// It places points on the ring and scores rendezvous, so its values are part of the wire contract: a change moves every
// key of a running cluster. Never use it where an attacker gains by choosing the input; that is base/crypto.h.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace exa {

std::uint64_t hash64(ByteView bytes, std::uint64_t seed = 0);

// hash64 of the two integers' 16 little-endian bytes.
std::uint64_t hash64(std::uint64_t a, std::uint64_t b, std::uint64_t seed = 0);

}  // namespace exa
