#include <array>

#include "app/config_keys.h"
#include "app/config_setters.h"

namespace exa::app {

namespace {

constexpr std::array keys = {
    ConfigKey{"http.threads", "N", "Threads that serve clients and links. Default: 1. Range: 1 to 64.",
              set_number<&PeerConfig::http_threads, 1, 64>},
};

}  // namespace

std::span<const ConfigKey> http_keys() {
    return keys;
}

}  // namespace exa::app
