// From the configuration to the peer's KV service.
#pragma once

#include <memory>

#include "app/config/config.h"
#include "app/kv/service.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/result.h"
#include "io/clock/system_clock.h"
#include "kv/segment.h"

namespace exa::app {

// Null when the configuration wants none. errc::data_dir: the directory cannot be used; the detail names it. The
// arguments outlive the service.
Result<std::shared_ptr<kv::KvService>> start_kv(const config::PeerConfig& config, PeerId self,
                                                const exa::kv::SegmentSealer& sealer,
                                                const io::clock::SystemClock& clock, Log& log);

}  // namespace exa::app
