#include "app/kv_start.h"

namespace exa::app {

std::shared_ptr<KvService> start_kv(const PeerConfig& config, const kv::SegmentSealer& sealer,
                                    const io::SystemClock& clock) {
    if (!config.kv_enabled.value_or(false)) return nullptr;
    KvServiceConfig service;
    service.memory_bytes = std::uint64_t{config.kv_memory_mb} << 20;
    return std::make_shared<KvService>(service, sealer, nullptr, [&clock] { return clock.wall(); });
}

}  // namespace exa::app
