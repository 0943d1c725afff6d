#include "app/resp_start.h"

#include <optional>
#include <string>
#include <utility>

namespace exa::app {

Result<std::unique_ptr<RespService>> start_resp(const PeerConfig& config, const Endpoint& endpoint,
                                                std::string_view software, const Crypto& crypto, ByteView root_secret,
                                                const kv::SegmentSealer& sealer, KvService* kv, const KeyGate* gate,
                                                const io::SystemClock& clock) {
    const auto wall = [&clock] { return clock.wall(); };
    RespKeyspaceConfig keyspace;
    keyspace.memory_bytes = std::uint64_t{config.kv_resp_memory_mb} << 20;
    io::RespConfig server;
    server.software = software;
    server.needs_auth = gate != nullptr;
    auto service = std::make_unique<RespService>(
        std::move(server),
        std::make_unique<RespKeyspace>(keyspace, crypto, root_secret, sealer, kv == nullptr ? nullptr : kv->disk(),
                                       wall),
        [gate](std::string_view, std::string_view password) {
            return gate == nullptr ? std::optional<std::string>(std::string()) : gate->tenant_of_key(password);
        },
        wall);
    const auto bound = service->run(endpoint);
    if (!bound) return bound.error();
    return service;
}

}  // namespace exa::app
