#include "app/kv_start.h"

#include <fmt/format.h>

#include "app/errc.h"
#include "app/kv_disk.h"

namespace exa::app {

namespace {

constexpr std::uint64_t mib = 1ull << 20;
constexpr std::uint64_t gib = 1ull << 30;

io::StoreConfig store_config(const PeerConfig& config) {
    io::StoreConfig store;
    store.directory = config.kv_directory;
    store.capacity_bytes = config.kv_capacity_gb * gib;
    store.durability = config.kv_durability == "none"  ? io::Durability::none
                       : config.kv_durability == "wal" ? io::Durability::wal
                                                       : io::Durability::sync;
    store.ttl = std::chrono::hours(config.kv_ttl_hours);
    store.tenant_quota_bytes = config.kv_tenant_quota_gb * gib;
    return store;
}

}  // namespace

Result<std::shared_ptr<KvService>> start_kv(const PeerConfig& config, const kv::SegmentSealer& sealer,
                                            const io::SystemClock& clock, Log& log) {
    if (!config.kv_enabled.value_or(false)) return std::shared_ptr<KvService>();
    std::unique_ptr<KvDisk> disk;
    if (config.kv_capacity_gb > 0) {
        auto opened = open_kv_disk(store_config(config), sealer, clock.wall(), log);
        if (!opened)
            return error(errc::data_dir,
                         fmt::format("kv.directory: {}: {}", config.kv_directory, opened.error().message()));
        disk = std::move(opened).value();
    }
    KvServiceConfig service;
    service.memory_bytes = config.kv_memory_mb * mib;
    return std::make_shared<KvService>(service, sealer, std::move(disk), [&clock] { return clock.wall(); });
}

}  // namespace exa::app
