#include "app/resp_start.h"

#include <optional>
#include <string>
#include <utility>

#include "base/hash.h"

namespace exa::app {

Result<std::unique_ptr<resp::RespService>> start_resp(const config::PeerConfig& config, const Endpoint& endpoint,
                                                      std::string_view software, const Crypto& crypto,
                                                      ByteView root_secret, const exa::kv::SegmentSealer& sealer,
                                                      kv::KvService* kv, PeerId self,
                                                      const access::ApiKeyAuthorizer* authorizer,
                                                      const io::clock::SystemClock& clock) {
    const auto wall = [&clock] { return clock.wall(); };
    resp::RespKeyspaceConfig keyspace;
    keyspace.memory_bytes = std::uint64_t{config.kv.resp_memory_mib} << 20;
    keyspace.writer_tag = static_cast<std::uint16_t>(hash64(self.value, 0));
    io::resp::RespConfig server;
    server.software = software;
    server.needs_auth = authorizer != nullptr;
    auto service = std::make_unique<resp::RespService>(
        std::move(server),
        std::make_unique<resp::RespKeyspace>(
            keyspace, resp::RespDeps{.crypto = crypto,
                                     .root_secret = Bytes(root_secret.begin(), root_secret.end()),
                                     .sealer = sealer,
                                     .disk = kv == nullptr ? nullptr : kv->disk(),
                                     .peers = kv == nullptr ? nullptr : kv->peers(),
                                     .wall = wall}),
        kv,
        [authorizer](std::string_view, std::string_view password) {
            return authorizer == nullptr ? std::optional<std::string>(std::string())
                                         : authorizer->tenant_of_key(password);
        },
        wall);
    const auto bound = service->run(endpoint);
    if (!bound) return bound.error();
    return service;
}

}  // namespace exa::app
