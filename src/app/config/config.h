// PeerConfig: everything that an operator can set for one peer. Each part of it has a table of its own in the TOML file
// and a list of options (options.h) that says how its values are written and what they may be. Defaults stand here.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "base/time.h"
#include "io/http/server.h"
#include "io/log/log.h"
#include "io/store/segment_store.h"
#include "membership/config.h"
#include "router/config.h"

namespace exa::app::config {

struct SecuritySettings {
    std::string cluster_key_file;
    bool allow_plaintext = false;
    std::string api_keys_file;
    bool allow_anonymous = false;
};

// What is listened on, or what other peers are told.
struct AddressSettings {
    std::string gossip;
    std::string link;
    std::string http;
};

enum class EngineKind : std::uint8_t { builtin, attach, null };

struct ModelSettings {
    EngineKind engine = EngineKind::builtin;
    std::string path;
    std::string name;
    std::uint32_t replicas = 1;
    std::uint32_t in_flight_limit = 32;
    std::chrono::milliseconds tbt_target{250};
    std::uint32_t queue_requests = 64;
    std::uint32_t context_tokens = 0;
    std::uint32_t kv_tokens = 16'384;
};

struct NullSettings {
    std::chrono::microseconds prefill{0};
    std::chrono::microseconds decode{1'000};
    std::uint32_t jitter_permille = 0;
    std::uint32_t answer_tokens = 0;
};

struct AttachSettings {
    std::vector<std::string> urls;
    std::string api_key_file;
    std::string health_path = "/health";
    std::chrono::milliseconds idle_timeout{4'000};
};

struct KvSettings {
    std::optional<bool> enabled;  // set by complete_config()
    std::uint32_t segment_tokens = 64;
    std::uint32_t memory_mib = 256;
    std::string directory;
    std::uint32_t capacity_gib = 10;
    io::store::Durability durability = io::store::Durability::wal;
    std::chrono::hours ttl{24};
    std::uint32_t tenant_quota_gib = 0;
    std::uint32_t scrub_mib_per_second = 16;
    std::string cold_directory;
    std::uint32_t cold_capacity_gib = 0;
    std::uint32_t cold_readers = 4;
    std::string resp_listen;
    std::uint32_t resp_memory_mib = 256;
};

enum class RoutingMode : std::uint8_t { full, hash };

// The table [http] sets these and an io::HttpConfig.
struct HttpSettings {
    std::uint32_t threads = 1;
    RoutingMode routing = RoutingMode::full;
    std::chrono::microseconds stream_coalesce{600};
    std::chrono::seconds first_byte_timeout{120};
    std::chrono::seconds stream_idle_timeout{60};
    std::string certificate_file;
    std::string key_file;
    std::string cors_origins;
    std::string access_log;
};

struct PeerConfig {
    std::string name;
    std::string cluster = "exaserve";
    std::string data_dir;
    std::string region = "local";
    std::string rack = "rack-1";
    std::vector<std::string> seeds;
    bool first = false;
    std::string root_secret_file;
    std::chrono::seconds drain_time{60};

    SecuritySettings security;
    AddressSettings listen = {"127.0.0.1:7946", "127.0.0.1:7947", "127.0.0.1:8000"};
    AddressSettings advertise;
    ModelSettings model;
    NullSettings null_engine;
    AttachSettings attach;
    KvSettings kv;
    HttpSettings http;
    io::http::HttpConfig http_server;
    io::log::LogConfig log;
    router::Config router;
    membership::Profile profile = membership::Profile::lan;
    membership::Config membership;  // the profile's, but for what is set explicitly
};

// What the defaults of some options depend on.
struct Environment {
    std::string host_name;
    std::string state_home;  // $XDG_STATE_HOME (XDG base directory specification)
    std::string cache_home;  // $XDG_CACHE_HOME
};

// Fills in what depends on other options (name, data_dir, advertise.*, model.*, kv.*) and checks the relations between
// options. errc::usage names the option, its value and what it may be.
Result<void> complete_config(PeerConfig& config, const Environment& environment);

}  // namespace exa::app::config
