// A tenant as the cache sees it: a salt that keeps its keys apart from everybody else's, and a tag that quotas count
// by. Both come from the cluster's root secret and never from a client.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/crypto.h"

namespace exa::kv {

// HKDF of the root secret and the tenant's name: what kv::root_key takes.
Digest tenant_salt(const Crypto& crypto, ByteView root_secret, std::string_view tenant);

// The first eight bytes, little-endian, of a hash of the salt: names the tenant in stored segments without telling who
// it is.
std::uint64_t tenant_tag(const Crypto& crypto, const Digest& salt);

}  // namespace exa::kv
