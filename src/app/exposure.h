// What of a peer may be reached from other machines, by what its configuration says of keys.
#pragma once

#include <string_view>

#include "app/addresses.h"
#include "app/config/config.h"
#include "base/endpoint.h"
#include "base/result.h"
#include "membership/key_ring.h"

namespace exa::app {

// No plaintext beyond this machine unless the operator says so, and none at all of a peer that has keys. errc::usage.
Result<void> check_sealing(const PeerConfig& config, const membership::KeyRing& ring, const Addresses& listen);

// Nobody uses the models, by the door that `key` of the configuration opens, from beyond this machine without a key
// unless the operator says so. errc::usage.
Result<void> check_door(const PeerConfig& config, std::string_view key, const Endpoint& door);

}  // namespace exa::app
