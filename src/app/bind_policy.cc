#include "app/bind_policy.h"

#include <fmt/format.h>

#include <utility>

#include "app/shared/address.h"
#include "app/shared/errc.h"

namespace exa::app {

Result<void> check_encryption(const config::PeerConfig& config, const membership::KeyRing& ring,
                              const Addresses& listen) {
    if (config.security.allow_plaintext && !ring.empty())
        return error(shared::errc::usage,
                     fmt::format("security.allow_plaintext: this peer has keys ({}); remove them to leave the "
                                 "encrypted cluster",
                                 config.security.cluster_key_file.empty() ? config.data_dir + "/keys"
                                                                          : "security.cluster_key_file"));
    if (!ring.empty() || config.security.allow_plaintext) return success();
    for (const auto& [key, endpoint] : {std::pair("listen.gossip", listen.gossip), {"listen.link", listen.link}})
        if (!shared::is_loopback(endpoint))
            return error(shared::errc::usage,
                         fmt::format("{}: {} can be reached from other machines, and there is no key to seal what is "
                                     "said there. Either give every peer the same security.cluster_key_file ('(umask "
                                     "077; exaserve keys generate > cluster.key)' makes one), or set "
                                     "security.allow_plaintext = true on a "
                                     "network that you trust",
                                     key, to_string(endpoint)));
    return success();
}

Result<void> check_client_access(const config::PeerConfig& config, std::string_view key, const Endpoint& endpoint) {
    if (!config.security.api_keys_file.empty() || config.security.allow_anonymous || shared::is_loopback(endpoint))
        return success();
    return error(
        shared::errc::usage,
        fmt::format("{}: {} can be reached from other machines, and there are no API keys. Either set "
                    "security.api_keys_file ('exaserve apikeys create' makes one), or set security.allow_anonymous = "
                    "true on a network that you trust",
                    key, to_string(endpoint)));
}

}  // namespace exa::app
