#include "ring/pool_key.h"

#include "base/hash.h"

namespace exa::ring {

std::uint64_t pool_hash(const PoolKey& key) {
    std::uint64_t hash = 0;
    for (const std::string* field : {&key.model, &key.role, &key.tenant_pool, &key.version})
        hash = hash64(hash64(as_bytes(*field)), hash);
    return hash;
}

}  // namespace exa::ring
