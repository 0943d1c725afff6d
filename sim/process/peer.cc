#include "sim/process/peer.h"

namespace exa::sim {

Endpoint endpoint_of(Host host, std::uint16_t port) {
    Endpoint endpoint;
    endpoint.address[10] = 0xff;
    endpoint.address[11] = 0xff;
    endpoint.address[12] = 10;
    endpoint.address[13] = static_cast<std::uint8_t>(host >> 16);
    endpoint.address[14] = static_cast<std::uint8_t>(host >> 8);
    endpoint.address[15] = static_cast<std::uint8_t>(host);
    endpoint.port = port;
    return endpoint;
}

Host host_of(const Endpoint& endpoint) {
    return Host{endpoint.address[13]} << 16 | Host{endpoint.address[14]} << 8 | Host{endpoint.address[15]};
}

}  // namespace exa::sim
