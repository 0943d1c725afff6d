// PoolKey: which replicas are interchangeable for a request. One ring a pool.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace exa::ring {

struct PoolKey {
    std::string model;
    std::string role;         // "chat", "embed"
    std::string tenant_pool;  // empty: shared by all tenants
    std::string version;
    auto operator<=>(const PoolKey&) const = default;
};

// Equal for equal keys; field boundaries count. The same on every machine.
std::uint64_t pool_hash(const PoolKey& key);

}  // namespace exa::ring
