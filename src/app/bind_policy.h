// Bind policy: which addresses of a peer other machines may reach, given the keys in its configuration.
#pragma once

#include <string_view>

#include "app/addresses.h"
#include "app/config/config.h"
#include "base/endpoint.h"
#include "base/result.h"
#include "membership/key_ring.h"

namespace exa::app {

// Refuses plaintext between peers beyond this machine, unless the operator allows it, and always for a peer that has
// keys. errc::usage.
Result<void> check_encryption(const config::PeerConfig& config, const membership::KeyRing& ring,
                              const Addresses& listen);

// Refuses an address for clients, the option `key`, that other machines reach without API keys, unless the operator
// allows it. errc::usage.
Result<void> check_client_access(const config::PeerConfig& config, std::string_view key, const Endpoint& endpoint);

}  // namespace exa::app
