// The KV service's disk: io::SegmentStore.
#pragma once

#include <memory>

#include "app/kv/tiers.h"
#include "base/result.h"

namespace exa::app {

// As io::SegmentStore::open().
Result<std::unique_ptr<KvDisk>> open_kv_disk(const io::StoreConfig& config, const kv::SegmentSealer& sealer,
                                             WallTime now, Log& log);

}  // namespace exa::app
