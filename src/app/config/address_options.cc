#include "app/config/option_kinds.h"
#include "app/config/options.h"

namespace exa::app::config {

// Their defaults are PeerConfig's: an AddressSettings alone has none.
std::vector<Option<AddressSettings>> listen_options() {
    const PeerConfig config;
    return {
        text_option("gossip", "HOST:PORT", &AddressSettings::gossip, "UDP address to bind for membership.",
                    address_problem)
            .defaults_to(config.listen.gossip),
        text_option("link", "HOST:PORT", &AddressSettings::link, "TCP address to bind for peer links.", address_problem)
            .defaults_to(config.listen.link),
        text_option("http", "HOST:PORT", &AddressSettings::http, "TCP address to bind for clients.", address_problem)
            .defaults_to(config.listen.http),
    };
}

std::vector<Option<AddressSettings>> advertise_options() {
    return {
        text_option("gossip", "HOST:PORT", &AddressSettings::gossip,
                    "Gossip address at which other peers reach this one. Required when listen.gossip is 0.0.0.0 or "
                    "[::].",
                    address_problem)
            .defaults_to("listen.gossip"),
        text_option("link", "HOST:PORT", &AddressSettings::link,
                    "Link address that other peers dial. Required when listen.link is 0.0.0.0 or [::].",
                    address_problem)
            .defaults_to("listen.link"),
        text_option("http", "HOST:PORT", &AddressSettings::http,
                    "HTTP address shown to operators. Required when listen.http is 0.0.0.0 or [::].", address_problem)
            .defaults_to("listen.http"),
    };
}

}  // namespace exa::app::config
