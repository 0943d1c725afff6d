// From the configuration to the peer's KV service.
#pragma once

#include <memory>

#include "app/config.h"
#include "app/kv_service.h"
#include "io/clock/system_clock.h"
#include "kv/segment.h"

namespace exa::app {

// Null when the configuration wants none. The arguments outlive the service.
std::shared_ptr<KvService> start_kv(const PeerConfig& config, const kv::SegmentSealer& sealer,
                                    const io::SystemClock& clock);

}  // namespace exa::app
