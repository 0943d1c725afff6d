// KvScopes: whose KV a request's is, outside the replicas of one model.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/crypto.h"
#include "engine/replica.h"
#include "kv/segment_key.h"

namespace exa::app::kv {

// Thread-safe.
class KvScopes {
  public:
    // `crypto` outlives it.
    KvScopes(const Crypto& crypto, Bytes root_secret, exa::kv::CacheFingerprint fingerprint,
             std::uint32_t segment_tokens)
        : crypto_(crypto),
          root_secret_(std::move(root_secret)),
          fingerprint_(std::move(fingerprint)),
          segment_tokens_(segment_tokens) {}

    // An empty name: anonymous, a tenant like others.
    engine::KvScope of(std::string_view tenant) const;
    // Of the whole segments of a prompt.
    std::vector<exa::kv::SegmentKey> keys_of(std::string_view tenant, std::span<const engine::TokenId> prompt) const;

  private:
    const Crypto& crypto_;
    const Bytes root_secret_;
    const exa::kv::CacheFingerprint fingerprint_;
    const std::uint32_t segment_tokens_;
};

}  // namespace exa::app::kv
