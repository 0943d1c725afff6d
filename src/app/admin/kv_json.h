// The JSON of a peer's KV cache: what `exaserve kv` shows.
#pragma once

#include <boost/json/value.hpp>
#include <optional>

#include "app/kv/service.h"

namespace exa::app::admin {

// {"enabled","memory":{"segments","bytes"},"queue":{"segments","bytes"},"finished","dropped","refused","loads",
//  "misses","hits":{"memory","disk","peers","cold"},"disk":null or
//  {"segments","bytes","physical_bytes","capacity_bytes",
//  "hits","misses","stored","refused","evicted","expired","unpersisted","corrupt","errors","leases"},"peers":null or
//  {"converged",
//  "waiting","offered","held","refused","dropped","fetched","fetched_bytes","corrupt","repair":{"running","passes",
//  "looked_at","offered","bytes"}},"cold":null or
//  {"closed_off","full","trouble","files","bytes","share_bytes","lookups",
//  "found","declined","reads","read_bytes","bytes_per_s","missing","refused","corrupt","written","written_bytes",
//  "present","evicted","errors"}}; {"enabled":false} of nothing.
boost::json::value kv_json(const std::optional<kv::KvStats>& stats);

}  // namespace exa::app::admin
