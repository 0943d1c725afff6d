#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/config/keys.h"
#include "app/config/setters.h"

namespace exa::app {

namespace {

Result<void> set_seeds(PeerConfig& config, std::string_view text) {
    std::vector<std::string> seeds;
    while (!text.empty()) {
        const auto comma = std::min(text.find(','), text.size());
        PeerConfig one;
        EXA_TRY(set_address<&PeerConfig::listen_gossip>(one, text.substr(0, comma)));
        seeds.push_back(one.listen_gossip);
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    if (seeds.size() > 64) return bad_value(std::to_string(seeds.size()), "at most 64 seeds");
    config.seeds = std::move(seeds);
    return success();
}

Result<void> set_log_level(PeerConfig& config, std::string_view text) {
    static constexpr std::array<std::string_view, 4> names = {"debug", "info", "warn", "error"};
    const auto at = std::ranges::find(names, text);
    if (at == names.end()) return bad_value(text, "debug, info, warn or error");
    config.log_level = static_cast<LogLevel>(at - names.begin());
    return success();
}

Result<void> set_log_format(PeerConfig& config, std::string_view text) {
    if (text != "text" && text != "json") return bad_value(text, "text or json");
    config.log_json = text == "json";
    return success();
}

constexpr std::array keys = {
    ConfigKey{"name", "NAME",
              "Name of this peer in tables and logs, unique in the cluster. Default: <host name>-<http port>.",
              set_label<&PeerConfig::name>},
    ConfigKey{"cluster", "NAME", "Name of the cluster. Peers of another name are refused. Default: exaserve.",
              set_label<&PeerConfig::cluster>},
    ConfigKey{"data_dir", "DIR",
              "Directory of this peer alone: its id and generation. Made if missing. Default: "
              "$XDG_STATE_HOME/exaserve/<http port>.",
              set_text<&PeerConfig::data_dir>},
    ConfigKey{"region", "LABEL", "Where the peer stands, coarsely. Default: local.", set_label<&PeerConfig::region>},
    ConfigKey{"rack", "LABEL",
              "What fails together: peers of one rack share a switch or a power feed. Default: rack-1.",
              set_label<&PeerConfig::rack>},
    ConfigKey{"seeds", "HOST:PORT,...",
              "Gossip addresses of peers to join through; any one that answers is enough, and all are asked again for "
              "ever. Host names are looked up. Default: none (the first peer of a cluster).",
              set_seeds},
    ConfigKey{"root_secret_file", "FILE",
              "File with the cluster's root secret (32 or more random bytes, the same on every peer), which protects "
              "session tokens. Default: derived from the cluster's name, good enough on one machine only.",
              set_text<&PeerConfig::root_secret_file>},
    ConfigKey{"drain_seconds", "S",
              "How long a leaving peer lets running answers finish before it ends them. Default: 60. Range: 1 to 3600.",
              set_number<&PeerConfig::drain_seconds, 1, 3600>},
    ConfigKey{"log.level", "LEVEL", "debug, info, warn or error. Default: info.", set_log_level},
    ConfigKey{"log.format", "FORMAT", "text or json (one object a line). Default: text.", set_log_format},
};

}  // namespace

std::span<const ConfigKey> peer_keys() {
    return keys;
}

}  // namespace exa::app
