// RespDeps: what the Redis port's values stand on; the parts of a keyspace share one.
#pragma once

#include <cstdint>
#include <functional>

#include "app/kv/tiers.h"
#include "base/bytes.h"
#include "base/crypto.h"
#include "base/time.h"
#include "io/store/segment_store.h"
#include "kv/segment.h"

namespace exa::app::resp {

struct RespDeps {
    const Crypto& crypto;
    Bytes root_secret;
    const exa::kv::SegmentSealer& sealer;
    io::store::SegmentStore* disk = nullptr;  // null: memory is all there is
    kv::KvPeers* peers = nullptr;             // null: there are no others
    std::function<WallTime()> wall;           // thread-safe

    std::int64_t now_ms() const { return wall().unix_us / 1000; }
};

}  // namespace exa::app::resp
