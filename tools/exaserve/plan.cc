#include "exaserve/plan.h"

#include <algorithm>

#include "app/config/options.h"
#include "exaserve/exit_code.h"

namespace exa::cli {

namespace {

// Any one is enough; a few, so that the first peers may be gone when a later one starts again.
constexpr std::uint32_t seeds_each = 4;

std::string loopback(std::uint32_t port) {
    return "127.0.0.1:" + std::to_string(port);
}

PlannedPeer plan_peer(const UpOptions& options, std::uint32_t index) {
    const std::uint32_t racks = options.racks == 0 ? options.peers : options.racks;
    const std::uint32_t link_port = options.base_port + port_stride(options.peers);
    const std::uint32_t gossip_port = link_port + port_stride(options.peers);
    PlannedPeer peer;
    peer.name = "peer-" + std::to_string(index + 1);
    peer.http = loopback(options.base_port + index);
    peer.log_file = options.run_dir + "/" + peer.name + ".log";
    peer.data_dir = options.run_dir + "/" + peer.name;
    std::string seeds;
    for (std::uint32_t other = 0; other < std::min(options.peers, seeds_each + 1); ++other) {
        if (other == index) continue;
        seeds += (seeds.empty() ? "" : ",") + loopback(gossip_port + other);
    }

    std::vector<std::pair<std::string, std::string>> keys = {
        {"cluster", "up-" + std::to_string(options.base_port)},
        {"name", peer.name},
        {"rack", "rack-" + std::to_string(index % racks + 1)},
        {"data_dir", peer.data_dir},
        {"listen.http", peer.http},
        {"listen.link", loopback(link_port + index)},
        {"listen.gossip", loopback(gossip_port + index)},
        {"model.engine", options.engine},
        {"model.replicas", std::to_string(options.replicas)},
        {"drain_seconds", std::to_string(options.drain_seconds)},
    };
    if (!seeds.empty()) keys.emplace_back("seeds", seeds);
    if (options.encrypted) keys.emplace_back("security.cluster_key_file", key_file(options));
    if (!options.model.empty()) keys.emplace_back("model.path", options.model);
    if (!options.model_name.empty()) keys.emplace_back("model.name", options.model_name);
    for (const auto& [key, value] : options.settings) {
        std::erase_if(keys, [&](const auto& planned) { return planned.first == key; });
        keys.emplace_back(key, value);
    }

    peer.arguments = {"peer"};
    for (const auto& [key, value] : keys) peer.arguments.push_back(flag_of(key) + "=" + value);
    return peer;
}

}  // namespace

Outcome<std::vector<PlannedPeer>> plan_peers(const UpOptions& options) {
    if (options.base_port + 2 * port_stride(options.peers) + options.peers - 1 > 65535)
        return Failure{exit_usage, "--base-port: " + std::to_string(options.base_port) +
                                       " leaves no room for the peers' ports below 65536"};
    const bool has_keys = std::ranges::any_of(
        options.settings, [](const auto& setting) { return setting.first == "security.api_keys_file"; });
    if (has_keys && options.admin_key.empty())
        return Failure{exit_usage,
                       "security.api_keys_file: whether the peers are ready is asked with an admin's key; "
                       "give it with --admin-key or EXASERVE_ADMIN_KEY"};
    app::config::PeerConfig checked;
    for (const auto& [key, value] : options.settings)
        if (const auto valid = app::config::set_option(checked, key, value); !valid)
            return Failure{exit_usage, "--set: " + valid.error().detail + "; 'exaserve peer --help' lists all keys"};
    std::vector<PlannedPeer> peers;
    for (std::uint32_t i = 0; i < options.peers; ++i) peers.push_back(plan_peer(options, i));
    return peers;
}

std::string flag_of(std::string_view key) {
    std::string flag = "--" + std::string(key);
    std::ranges::replace_if(flag, [](char c) { return c == '.' || c == '_'; }, '-');
    return flag;
}

}  // namespace exa::cli
