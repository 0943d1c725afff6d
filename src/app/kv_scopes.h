// KvScopes: whose KV a request's is, outside the replicas of one model.
#pragma once

#include <string_view>
#include <utility>

#include "base/crypto.h"
#include "engine/replica.h"
#include "kv/segment_key.h"

namespace exa::app {

// Thread-safe.
class KvScopes {
  public:
    // `crypto` outlives it.
    KvScopes(const Crypto& crypto, Bytes root_secret, kv::CacheFingerprint fingerprint)
        : crypto_(crypto), root_secret_(std::move(root_secret)), fingerprint_(std::move(fingerprint)) {}

    // An empty name: anonymous, a tenant like others.
    engine::KvScope of(std::string_view tenant) const;

  private:
    const Crypto& crypto_;
    const Bytes root_secret_;
    const kv::CacheFingerprint fingerprint_;
};

}  // namespace exa::app
