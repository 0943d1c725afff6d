// Plan of a local cluster: which peers `exaserve up` starts, and with which arguments.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "exaserve/failure.h"

namespace exa::cli {

struct UpOptions {
    std::uint32_t peers = 3;         // 1 .. peers_max
    std::uint32_t replicas = 2;      // of each peer, 0 .. 64
    std::uint32_t racks = 0;         // virtual ones, filled in turn; 0: as many as peers
    std::string engine = "builtin";  // of the replicas: as model.engine
    std::string model;               // GGUF file; empty: the default model
    std::string model_name;          // empty: from the file
    // HTTP ports count up from here, link ports from port_stride() above, gossip ports from twice that above.
    std::uint16_t base_port = 8000;
    std::string run_dir;     // logs and data directories
    std::string ready_file;  // made when every replica is ready; empty: none
    std::uint32_t wait_seconds = 300;
    std::uint32_t drain_seconds = 10;
    std::string admin_key;   // to ask the peers how they are, where the settings have API keys; empty: none
    bool encrypted = false;  // with the key in key_file()
    bool follow = false;     // copy the peers' logs to standard error
    bool json = false;
    // Keys of the configuration for every peer, over what the plan says.
    std::vector<std::pair<std::string, std::string>> settings;
};

// Where the key of an encrypted cluster is kept.
inline std::string key_file(const UpOptions& options) {
    return options.run_dir + "/cluster.key";
}

struct PlannedPeer {
    std::string name;
    std::string http;  // "127.0.0.1:8000"
    std::string log_file;
    std::string data_dir;
    std::vector<std::string> arguments;  // of this program
};

inline constexpr std::uint32_t peers_max = 256;

// From one kind of port to the next: 100, or 1000 for more than 100 peers.
constexpr std::uint32_t port_stride(std::uint32_t peers) {
    return peers <= 100 ? 100 : 1000;
}

// exit_usage when the ports do not fit below 65536, or peers would not say whether they are ready.
Outcome<std::vector<PlannedPeer>> plan_peers(const UpOptions& options);

// The flag of a configuration key: "listen.http" is "--listen-http".
std::string flag_of(std::string_view key);

}  // namespace exa::cli
