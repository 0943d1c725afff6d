#include "exaserve/plan.h"

#include <algorithm>

#include "exaserve/exit_code.h"

namespace exa::cli {

namespace {

std::string loopback(std::uint32_t port) {
    return "127.0.0.1:" + std::to_string(port);
}

PlannedPeer plan_peer(const UpOptions& options, std::uint32_t index) {
    const std::uint32_t racks = options.racks == 0 ? options.peers : options.racks;
    PlannedPeer peer;
    peer.name = "peer-" + std::to_string(index + 1);
    peer.http = loopback(options.base_port + index);
    peer.log_file = options.run_dir + "/" + peer.name + ".log";
    peer.data_dir = options.run_dir + "/" + peer.name;
    std::string seeds;
    for (std::uint32_t other = 0; other < options.peers; ++other) {
        if (other == index) continue;
        seeds += (seeds.empty() ? "" : ",") + loopback(options.base_port + gossip_port_offset + other);
    }

    std::vector<std::pair<std::string, std::string>> keys = {
        {"name", peer.name},
        {"rack", "rack-" + std::to_string(index % racks + 1)},
        {"data_dir", peer.data_dir},
        {"listen.http", peer.http},
        {"listen.link", loopback(options.base_port + link_port_offset + index)},
        {"listen.gossip", loopback(options.base_port + gossip_port_offset + index)},
        {"model.replicas", std::to_string(options.replicas)},
        {"drain_seconds", std::to_string(options.drain_seconds)},
    };
    if (!seeds.empty()) keys.emplace_back("seeds", seeds);
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
    if (std::uint32_t{options.base_port} + gossip_port_offset + options.peers - 1 > 65535)
        return Failure{exit_usage, "--base-port: " + std::to_string(options.base_port) +
                                       " leaves no room for the peers' ports below 65536"};
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
