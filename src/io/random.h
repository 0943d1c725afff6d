// Randomness of the system (getrandom(2)), for ids, keys and seeds. Cores never see it, only what it made.
#pragma once

#include <cstdint>
#include <span>

#include "base/crypto.h"

namespace exa::io {

// Waits only for the kernel's pool at boot.
void fill_random(std::span<std::uint8_t> out);

// Uniform, and never 0: 0 is "none" for ids. From what the calling thread has fetched in bulk.
std::uint64_t random_u64();

// For one sealing.
AeadNonce random_nonce();

}  // namespace exa::io
