#include "app/kv_start.h"

#include <fmt/format.h>

#include <filesystem>

#include "app/shared/errc.h"
#include "io/cold/cold_store.h"
#include "io/store/segment_store.h"

namespace exa::app {

namespace {

constexpr std::uint64_t mib = 1ull << 20;
constexpr std::uint64_t gib = 1ull << 30;

io::store::StoreConfig store_config(const config::PeerConfig& config) {
    io::store::StoreConfig store;
    store.directory = config.kv.directory;
    store.capacity_bytes = config.kv.capacity_gib * gib;
    store.durability = config.kv.durability;
    store.ttl = config.kv.ttl;
    store.tenant_quota_bytes = config.kv.tenant_quota_gib * gib;
    return store;
}

void warn_of_room(const config::PeerConfig& config, const io::store::SegmentStore& disk, Log& log) {
    std::error_code unknown;
    const auto space = std::filesystem::space(config.kv.directory, unknown);
    const std::uint64_t room = space.available + disk.stats().physical_bytes;
    if (unknown || room >= config.kv.capacity_gib * gib) return;
    log.warn("store", "kv.capacity_gib is more than there is room for: old segments go when the disk is full",
             {{"room_mib", std::to_string(room / mib)}, {"directory", config.kv.directory}});
}

}  // namespace

Result<std::shared_ptr<kv::KvService>> start_kv(const config::PeerConfig& config, PeerId self,
                                                const exa::kv::SegmentSealer& sealer,
                                                const io::clock::SystemClock& clock, Log& log) {
    if (!config.kv.enabled.value_or(false)) return std::shared_ptr<kv::KvService>();
    std::unique_ptr<io::store::SegmentStore> disk;
    if (config.kv.capacity_gib > 0) {
        auto opened = io::store::SegmentStore::open(store_config(config), sealer, clock.wall(), log);
        if (!opened)
            return error(shared::errc::data_dir,
                         fmt::format("kv.directory: {}: {}", config.kv.directory, opened.error().message()));
        disk = std::move(opened).value();
        warn_of_room(config, *disk, log);
    }
    std::unique_ptr<io::cold::ColdStore> cold;
    if (!config.kv.cold_directory.empty()) {
        io::cold::ColdConfig cold_config;
        cold_config.capacity_bytes = config.kv.cold_capacity_gib * gib;
        cold_config.readers = config.kv.cold_readers;
        cold_config.durably = config.kv.durability == io::store::Durability::sync;
        cold = std::make_unique<io::cold::ColdStore>(
            cold_config, self, io::cold::cold_files(config.kv.cold_directory), sealer,
            io::cold::ColdClock{[] { return io::clock::SystemClock().now(); },
                                [] { return io::clock::SystemClock().wall(); }},
            log);
    }
    kv::KvServiceConfig service;
    service.memory_bytes = config.kv.memory_mib * mib;
    return std::make_shared<kv::KvService>(
        service, sealer, std::move(disk), [&clock] { return clock.wall(); }, std::move(cold));
}

}  // namespace exa::app
