#include "kv/tenant.h"

#include "base/bytes.h"

namespace exa::kv {

Digest tenant_salt(const Crypto& crypto, ByteView root_secret, std::string_view tenant) {
    return crypto.hkdf_sha256(root_secret, as_bytes(tenant), as_bytes("exaserve kv tenant 1"));
}

std::uint64_t tenant_tag(const Crypto& crypto, const Digest& salt) {
    const Digest digest = crypto.hmac_sha256(as_bytes("exaserve kv tenant tag 1"), salt);
    std::uint64_t tag = 0;
    for (std::size_t i = 8; i-- > 0;) tag = tag << 8 | digest[i];
    return tag;
}

}  // namespace exa::kv
