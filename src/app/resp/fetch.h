// Brings a value of the Redis port from other peers: the first part from a holder of the last version, then the others
// from wherever they are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/kv/tiers.h"
#include "app/resp/version.h"
#include "base/crypto.h"
#include "kv/value_search.h"

namespace exa::app::resp {

struct RespFetch {
    exa::kv::SegmentKey key;
    std::string user_key;
    exa::kv::ValueVerdict verdict;  // with holders
    // Memory for so many bytes, as long as what it gives is held; null: there is none.
    std::function<std::shared_ptr<void>(std::uint64_t bytes)> reserve;
    bool first_part_only = false;  // for what stands in its head: nothing is reserved
};

// Whole, unless only its first part was wanted, that part holding what was reserved; or nothing. Called once, from
// another thread, or never when the peer ends. `crypto` outlives it.
using RespFetched = std::function<void(std::optional<RespVersion>)>;
void fetch_resp_value(kv::KvPeers& peers, const Crypto& crypto, RespFetch fetch, RespFetched done);

}  // namespace exa::app::resp
