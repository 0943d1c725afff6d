#include "app/config/option_kinds.h"
#include "app/config/options.h"

namespace exa::app::config {

std::vector<Option<SecuritySettings>> security_options() {
    return {
        text_option(
            "cluster_key_file", "FILE", &SecuritySettings::cluster_key_file,
            "File with the keys that encrypt gossip and links between peers, the same on every peer: one a "
            "line, 32 bytes as base64 ('exaserve keys generate' prints one). The first is used first. Keys that "
            "the peer knows from rotations are in its data directory. Without keys a peer binds gossip and "
            "links to loopback addresses only."),
        flag("allow_plaintext", &SecuritySettings::allow_plaintext,
             "Lets gossip and links run unencrypted on addresses that other machines can reach. Whoever reaches them "
             "can "
             "read and forge messages."),
        text_option("api_keys_file", "FILE", &SecuritySettings::api_keys_file,
                    "File with the tenants and their API keys ('exaserve apikeys create' adds one), the same on every "
                    "peer. With it every request needs a key, except /health and /metrics, and administration needs an "
                    "admin's key. A change takes effect within a second. Without it everybody who reaches the HTTP "
                    "address may use it, and administration is accepted from this machine only."),
        flag(
            "allow_anonymous", &SecuritySettings::allow_anonymous,
            "Lets clients without an API key use an HTTP address that other machines can reach. Whoever reaches it can "
            "use every model. Has no effect with security.api_keys_file."),
    };
}

}  // namespace exa::app::config
