#include <array>

#include "app/config/keys.h"
#include "app/config/setters.h"

namespace exa::app {

namespace {

constexpr std::array keys = {
    ConfigKey{"listen.gossip", "HOST:PORT", "UDP address to bind for membership. Default: 127.0.0.1:7946.",
              set_address<&PeerConfig::listen_gossip>},
    ConfigKey{"listen.link", "HOST:PORT", "TCP address to bind for peer links. Default: 127.0.0.1:7947.",
              set_address<&PeerConfig::listen_link>},
    ConfigKey{"listen.http", "HOST:PORT", "TCP address to bind for clients. Default: 127.0.0.1:8000.",
              set_address<&PeerConfig::listen_http>},
    ConfigKey{"advertise.gossip", "HOST:PORT",
              "Gossip address that other peers reach this one at. Default: listen.gossip; needed when that is 0.0.0.0 "
              "or [::].",
              set_address<&PeerConfig::advertise_gossip>},
    ConfigKey{"advertise.link", "HOST:PORT", "Link address that other peers dial. Default: listen.link; as above.",
              set_address<&PeerConfig::advertise_link>},
    ConfigKey{"advertise.http", "HOST:PORT", "HTTP address shown to operators. Default: listen.http; as above.",
              set_address<&PeerConfig::advertise_http>},
};

}  // namespace

std::span<const ConfigKey> net_keys() {
    return keys;
}

}  // namespace exa::app
