// PeerConfig: everything an operator can set for one peer, from a TOML file and from flags.
//
// config_keys() is the one list: the TOML parser, the command line's flags (`listen.http` is `--listen-http`) and the
// reference page are made from it, so none can name a key that the others lack.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/result.h"

namespace exa::app {

struct PeerConfig {
    std::string name;
    std::string cluster = "exaserve";
    std::string data_dir;
    std::string region = "local";
    std::string rack = "rack-1";
    std::vector<std::string> seeds;
    std::string root_secret_file;
    std::string cluster_key_file;
    bool unsealed = false;
    std::string api_keys_file;
    bool open_door = false;

    std::string listen_gossip = "127.0.0.1:7946";
    std::string listen_link = "127.0.0.1:7947";
    std::string listen_http = "127.0.0.1:8000";
    std::string advertise_gossip;
    std::string advertise_link;
    std::string advertise_http;

    std::string engine = "builtin";
    std::string model_path;
    std::string model_name;
    std::uint32_t replicas = 1;
    std::uint32_t in_flight_limit = 32;
    std::uint32_t tbt_target_ms = 100;
    std::uint32_t queue_requests = 64;
    std::uint32_t context_tokens = 0;
    std::uint32_t kv_tokens = 16'384;

    std::optional<bool> kv_enabled;  // set by complete_config()
    std::uint32_t kv_segment_tokens = 64;
    std::uint32_t kv_memory_mb = 256;
    std::string kv_directory;
    std::uint32_t kv_capacity_gb = 10;
    std::string kv_durability = "wal";
    std::uint32_t kv_ttl_hours = 24;
    std::uint32_t kv_tenant_quota_gb = 0;
    std::uint32_t kv_scrub_mb = 16;
    std::string kv_cold_directory;
    std::uint32_t kv_cold_capacity_gb = 0;
    std::uint32_t kv_cold_readers = 4;
    std::string kv_resp_listen;
    std::uint32_t kv_resp_memory_mb = 256;

    std::uint32_t null_prefill_us = 0;
    std::uint32_t null_decode_us = 1'000;
    std::uint32_t null_jitter_permille = 0;
    std::uint32_t null_answer_tokens = 0;

    std::vector<std::string> attach_urls;
    std::string attach_api_key_file;
    std::string attach_health_path = "/health";
    std::uint32_t attach_idle_ms = 4'000;

    std::uint32_t http_threads = 1;
    std::string http_routing = "full";
    std::uint32_t http_queue_ms = 2'000;
    std::uint32_t http_stream_spell_us = 600;
    std::uint32_t http_header_bytes = 64 * 1024;
    std::uint32_t http_body_bytes = 16 * 1024 * 1024;
    std::uint32_t http_connections = 8'192;
    std::uint32_t http_idle_seconds = 75;
    std::uint32_t http_first_byte_seconds = 120;
    std::uint32_t http_stream_idle_seconds = 60;
    std::string http_certificate_file;
    std::string http_key_file;
    std::string http_cors_origins;
    std::string http_access_log;
    std::uint32_t drain_seconds = 60;
    LogLevel log_level = LogLevel::info;
    bool log_json = false;
};

struct ConfigKey {
    std::string_view name;   // "listen.http"
    std::string_view value;  // what stands behind it in help: "HOST:PORT"
    std::string_view help;   // meaning, unit, default, range; written for one who reads nothing else
    Result<void> (*set)(PeerConfig& config, std::string_view text);  // the error says what is accepted
};

std::span<const ConfigKey> config_keys();

// Sets one key from text. The error names the key, the value and the range; `config` is then unchanged.
Result<void> set_config(PeerConfig& config, std::string_view name, std::string_view text);

// Applies a TOML file on top of `config`. Tables nest the dotted names; an array of strings is a list. The error names
// file, line and key.
Result<void> load_config(PeerConfig& config, const std::string& path);

// What the defaults of some keys depend on.
struct Environment {
    std::string host_name;
    std::string state_home;  // $XDG_STATE_HOME (XDG base directory specification)
    std::string cache_home;  // $XDG_CACHE_HOME
};

// Fills what depends on other keys (name, data_dir, advertise.*, model.*, kv.*) and checks relations between keys.
Result<void> complete_config(PeerConfig& config, const Environment& environment);

}  // namespace exa::app
