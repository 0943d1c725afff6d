#include <array>

#include "app/config/keys.h"
#include "app/config/setters.h"

namespace exa::app {

namespace {

constexpr std::array keys = {
    ConfigKey{
        "security.cluster_key_file", "FILE",
        "File with the keys that seal gossip and links between peers, the same on every peer: one a line, 32 bytes "
        "as base64 ('exaserve keys generate' makes one), the first is used first. Keys that the peer knows from "
        "rotations are in its data directory. Default: none, which is for loopback addresses only.",
        set_text<&PeerConfig::cluster_key_file>},
    ConfigKey{"security.unsealed", "BOOL",
              "true: gossip and links are plain although their addresses are not loopback ones; whoever reaches them "
              "can read and forge. Default: false.",
              set_flag<&PeerConfig::unsealed>},
    ConfigKey{
        "security.api_keys_file", "FILE",
        "File with the tenants and their API keys ('exaserve apikeys create' adds one), the same on every peer. With "
        "it every request needs a key, but for /health and /metrics, and an operator's needs an admin's; a change "
        "counts a second later. Default: none, everybody who reaches the door may use it, and orders come from "
        "this machine only.",
        set_text<&PeerConfig::api_keys_file>},
    ConfigKey{
        "security.open_door", "BOOL",
        "true: clients need no API key although listen.http is not a loopback address; whoever reaches it can use "
        "every model. Default: false. Without meaning where there is security.api_keys_file.",
        set_flag<&PeerConfig::open_door>},
};

}  // namespace

std::span<const ConfigKey> security_keys() {
    return keys;
}

}  // namespace exa::app
