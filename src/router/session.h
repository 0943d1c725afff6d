// Session tokens: a session id that says where the session is served. Its first 64 bits are a ring position, so every
// peer finds the same replica by reading it, without a table.
//
// Text: "exa-" and 40 hexadecimal digits: position (u64), mint time (u32, Unix seconds), MAC (u64), all big-endian. The
// MAC is SipHash-2-4 over position, mint time, tenant and pool, under a key derived from the root secret: nobody
// outside can aim at a replica, and a token of one tenant or pool means nothing in another. Whatever does not verify is
// not refused: it is a client's own id like any other text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/crypto.h"
#include "base/siphash.h"
#include "base/time.h"
#include "ring/pool_key.h"

namespace exa::router {

inline constexpr std::string_view token_prefix = "exa-";
inline constexpr std::size_t token_chars = 44;

// Immutable; any number of threads may use one.
class SessionTokens {
  public:
    // `life` is how long a token holds after its mint time, `future` how far ahead of our clock that time may be.
    SessionTokens(const Crypto& crypto, ByteView root_secret, Duration life = std::chrono::hours(2),
                  Duration future = std::chrono::minutes(5));

    std::string mint(std::uint64_t position, WallTime now, std::string_view tenant, const ring::PoolKey& pool) const;

    // The token's position; nothing when it is forged, foreign, expired, from the future, or no token at all.
    std::optional<std::uint64_t> verify(std::string_view text, WallTime now, std::string_view tenant,
                                        const ring::PoolKey& pool) const;

    // The position of a client's own id: a keyed hash of tenant and id, the same on every peer and in every pool.
    std::uint64_t position_of_client_id(std::string_view tenant, std::string_view id) const;

  private:
    std::uint64_t mac(std::uint64_t position, std::uint32_t minted, std::string_view tenant,
                      const ring::PoolKey& pool) const;

    SipKey token_key_;
    SipKey client_key_;
    std::int64_t life_seconds_;
    std::int64_t future_seconds_;
};

}  // namespace exa::router
