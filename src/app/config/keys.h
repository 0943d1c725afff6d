// The keys of PeerConfig by topic, one source a topic; config_keys() is all of them.
#pragma once

#include <span>

#include "app/config/config.h"

namespace exa::app {

std::span<const ConfigKey> peer_keys();
std::span<const ConfigKey> security_keys();
std::span<const ConfigKey> net_keys();
std::span<const ConfigKey> engine_keys();
std::span<const ConfigKey> kv_keys();
std::span<const ConfigKey> attach_keys();
std::span<const ConfigKey> http_keys();

}  // namespace exa::app
