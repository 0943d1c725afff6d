// RespVersionSearch: which version of a value is the last one, and whether it is here or with other peers.
//
// A search asks the owners of a value for their stamps first (kv/value_search.h). Owners that do not answer in
// time are not waited for.
#pragma once

#include <functional>
#include <vector>

#include "app/resp/counters.h"
#include "app/resp/deps.h"
#include "app/resp/value_cache.h"
#include "app/shared/callback_guard.h"
#include "kv/value_search.h"

namespace exa::app::resp {

// Thread-safe.
class RespVersionSearch {
  public:
    using Verdicts = std::vector<exa::kv::ValueVerdict>;
    // Gets a verdict for each key.
    using Then = std::function<void(const Verdicts&)>;

    RespVersionSearch(const RespDeps& deps, RespValueCache& cache, const shared::CallbackGuard& guard,
                      RespCounters& counters)
        : deps_(deps), cache_(cache), guard_(guard), counters_(counters) {}

    // What this peer knows of a value, in memory and on the disk; it asks nobody and does not block.
    exa::kv::KnownValue known(const exa::kv::SegmentKey& key);
    // Calls `then` once, within the call when there is nobody to ask, or from another thread; never once the guard is
    // closed.
    void search(const std::vector<exa::kv::SegmentKey>& keys, Then then);

  private:
    const RespDeps& deps_;
    RespValueCache& cache_;
    const shared::CallbackGuard& guard_;
    RespCounters& counters_;
};

}  // namespace exa::app::resp
