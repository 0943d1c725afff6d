// The JSON of a peer's KV cache: what `exaserve kv` shows.
#pragma once

#include <boost/json/value.hpp>
#include <optional>

#include "app/kv_service.h"

namespace exa::app {

// {"enabled","memory":{"segments","bytes"},"queue":{"segments","bytes"},"finished","dropped","refused","loads",
//  "misses","hits":{"memory","disk","peers"},"disk":null or {"segments","bytes","physical_bytes","capacity_bytes",
//  "hits","misses","stored","refused","evicted","expired","corrupt","errors","leases"}}; {"enabled":false} of nothing.
boost::json::value kv_json(const std::optional<KvStats>& stats);

}  // namespace exa::app
