#include "app/config.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

#include "app/errc.h"

namespace exa::app {

namespace {

Error bad(std::string_view text, std::string_view accepted) {
    return error(errc::usage, fmt::format("'{}' is not {}", text, accepted));
}

template <std::string PeerConfig::* Member>
Result<void> set_text(PeerConfig& config, std::string_view text) {
    if (text.size() > 4096) return bad(text.substr(0, 32), "at most 4096 bytes long");
    config.*Member = text;
    return success();
}

// A label travels in gossip and stands in logs and tables.
template <std::string PeerConfig::* Member>
Result<void> set_label(PeerConfig& config, std::string_view text) {
    const bool plain = std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
               c == '.';
    });
    if (text.empty() || text.size() > 63 || !plain) return bad(text, "1 to 63 letters, digits, '-', '_' or '.'");
    config.*Member = text;
    return success();
}

template <std::string PeerConfig::* Member>
Result<void> set_address(PeerConfig& config, std::string_view text) {
    const auto colon = text.rfind(':');
    std::uint16_t port = 0;
    const std::string_view digits = colon == text.npos ? std::string_view{} : text.substr(colon + 1);
    const auto [end, errc] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (colon == text.npos || colon == 0 || digits.empty() || errc != std::errc{} ||
        end != digits.data() + digits.size())
        return bad(text, "HOST:PORT (IPv6 as [::1]:8000) with a port of 0 to 65535");
    config.*Member = text;
    return success();
}

template <std::uint32_t PeerConfig::* Member, std::uint32_t Least, std::uint32_t Most>
Result<void> set_number(PeerConfig& config, std::string_view text) {
    std::uint32_t number = 0;
    const auto [end, errc] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (errc != std::errc{} || end != text.data() + text.size() || number < Least || number > Most)
        return bad(text, fmt::format("a whole number from {} to {}", Least, Most));
    config.*Member = number;
    return success();
}

Result<void> set_seeds(PeerConfig& config, std::string_view text) {
    std::vector<std::string> seeds;
    while (!text.empty()) {
        const auto comma = std::min(text.find(','), text.size());
        PeerConfig one;
        EXA_TRY(set_address<&PeerConfig::listen_gossip>(one, text.substr(0, comma)));
        seeds.push_back(one.listen_gossip);
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    if (seeds.size() > 64) return bad(std::to_string(seeds.size()), "at most 64 seeds");
    config.seeds = std::move(seeds);
    return success();
}

Result<void> set_log_level(PeerConfig& config, std::string_view text) {
    static constexpr std::array<std::string_view, 4> names = {"debug", "info", "warn", "error"};
    const auto at = std::ranges::find(names, text);
    if (at == names.end()) return bad(text, "debug, info, warn or error");
    config.log_level = static_cast<LogLevel>(at - names.begin());
    return success();
}

Result<void> set_unsealed(PeerConfig& config, std::string_view text) {
    if (text != "true" && text != "false") return bad(text, "true or false");
    config.unsealed = text == "true";
    return success();
}

Result<void> set_engine(PeerConfig& config, std::string_view text) {
    if (text != "builtin" && text != "null") return bad(text, "builtin or null");
    config.engine = text;
    return success();
}

Result<void> set_log_format(PeerConfig& config, std::string_view text) {
    if (text != "text" && text != "json") return bad(text, "text or json");
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
    ConfigKey{
        "security.cluster_key_file", "FILE",
        "File with the keys that seal gossip and links between peers, the same on every peer: one a line, 32 bytes "
        "as base64 ('exaserve keys generate' makes one), the first is used first. Keys that the peer knows from "
        "rotations are in its data directory. Default: none, which is for loopback addresses only.",
        set_text<&PeerConfig::cluster_key_file>},
    ConfigKey{"security.unsealed", "BOOL",
              "true: gossip and links are plain although their addresses are not loopback ones; whoever reaches them "
              "can read and forge. Default: false.",
              set_unsealed},
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
    ConfigKey{"model.engine", "ENGINE",
              "builtin runs the model file on this machine. null has no model and computes nothing: it takes the time "
              "that null.* say and answers noise, for tests of everything around an engine. Default: builtin.",
              set_engine},
    ConfigKey{
        "model.path", "FILE",
        "GGUF file of a Llama-family model. Default: SmolLM2-135M-Instruct in the user's cache, where tools/setup "
        "puts it.",
        set_text<&PeerConfig::model_path>},
    ConfigKey{"model.name", "NAME", "Model name that clients ask for. Default: the file's name without .gguf and type.",
              set_text<&PeerConfig::model_name>},
    ConfigKey{"model.replicas", "N",
              "Replicas that this peer runs; they share one copy of the weights. Default: 1. Range: 0 (an entry only) "
              "to 64.",
              set_number<&PeerConfig::replicas, 0, 64>},
    ConfigKey{"model.in_flight_limit", "N",
              "Requests that one replica works on at the same time; more are answered busy and go elsewhere. Default: "
              "8. Range: 1 to 256.",
              set_number<&PeerConfig::in_flight_limit, 1, 256>},
    ConfigKey{"model.context_tokens", "N",
              "Longest prompt plus answer, in tokens. Default: 0, what the model file says (at most kv_tokens). Range: "
              "0 to 1048576.",
              set_number<&PeerConfig::context_tokens, 0, 1'048'576>},
    ConfigKey{"model.kv_tokens", "N",
              "Tokens of KV cache that one replica holds in memory (23 KB a token for the default model). Default: "
              "16384. Range: 256 to 16777216.",
              set_number<&PeerConfig::kv_tokens, 256, 16'777'216>},
    ConfigKey{"null.prefill_us", "US",
              "Microseconds that a null replica takes for each prompt token. Default: 0. Range: 0 to 1000000.",
              set_number<&PeerConfig::null_prefill_us, 0, 1'000'000>},
    ConfigKey{"null.decode_us", "US",
              "Microseconds from one token of a null replica's answer to the next. Default: 1000. Range: 0 to "
              "60000000.",
              set_number<&PeerConfig::null_decode_us, 0, 60'000'000>},
    ConfigKey{"null.jitter_permille", "N",
              "Thousandths of null.decode_us by which each token comes earlier or later. Default: 0. Range: 0 to 1000.",
              set_number<&PeerConfig::null_jitter_permille, 0, 1000>},
    ConfigKey{"null.answer_tokens", "N",
              "Tokens of a null replica's answer that max_tokens does not cut. Default: 0, as many as max_tokens says. "
              "Range: 0 to 1000000.",
              set_number<&PeerConfig::null_answer_tokens, 0, 1'000'000>},
    ConfigKey{"http.threads", "N", "Threads that serve clients and links. Default: 1. Range: 1 to 64.",
              set_number<&PeerConfig::http_threads, 1, 64>},
    ConfigKey{"drain_seconds", "S",
              "How long a leaving peer lets running answers finish before it ends them. Default: 60. Range: 1 to 3600.",
              set_number<&PeerConfig::drain_seconds, 1, 3600>},
    ConfigKey{"log.level", "LEVEL", "debug, info, warn or error. Default: info.", set_log_level},
    ConfigKey{"log.format", "FORMAT", "text or json (one object a line). Default: text.", set_log_format},
};

// The text of a TOML leaf, as the key's setter reads it.
Result<std::string> leaf_text(const toml::node& node) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* number = node.as_integer()) return std::to_string(number->get());
    if (const auto* flag = node.as_boolean()) return std::string(flag->get() ? "true" : "false");
    if (const auto* list = node.as_array()) {
        std::string joined;
        for (const toml::node& item : *list) {
            if (!item.is_string()) return error(errc::usage, "a list of strings is expected");
            joined += (joined.empty() ? "" : ",") + item.as_string()->get();
        }
        return joined;
    }
    return error(errc::usage, "a string, a whole number or a list of strings is expected");
}

Result<void> apply_table(PeerConfig& config, const toml::table& table, const std::string& prefix,
                         const std::string& path) {
    for (const auto& [key, node] : table) {
        const std::string name = prefix + std::string(key.str());
        if (const auto* inner = node.as_table()) {
            EXA_TRY(apply_table(config, *inner, name + ".", path));
            continue;
        }
        const std::string place = fmt::format("{}:{}: ", path, node.source().begin.line);
        auto text = leaf_text(node);
        if (!text) return error(errc::usage, place + name + ": " + text.error().detail);
        if (auto done = set_config(config, name, text.value()); !done)
            return error(errc::usage, place + done.error().detail);
    }
    return success();
}

bool is_unspecified(std::string_view address) {
    return address.starts_with("0.0.0.0:") || address.starts_with("[::]:");
}

Result<void> complete_advertise(std::string& advertise, const std::string& listen, std::string_view which) {
    if (advertise.empty()) advertise = listen;
    if (is_unspecified(advertise))
        return error(errc::usage, fmt::format("advertise.{} is needed: other peers cannot reach {}", which, listen));
    return success();
}

}  // namespace

std::span<const ConfigKey> config_keys() {
    return keys;
}

Result<void> set_config(PeerConfig& config, std::string_view name, std::string_view text) {
    const auto key = std::ranges::find(keys, name, &ConfigKey::name);
    if (key == keys.end()) return error(errc::usage, fmt::format("unknown key '{}'", name));
    if (auto done = key->set(config, text); !done)
        return error(errc::usage, fmt::format("{}: {}", name, done.error().detail));
    return success();
}

Result<void> load_config(PeerConfig& config, const std::string& path) {
    toml::table table;
    std::error_code unknown;
    if (!std::filesystem::is_regular_file(path, unknown) && !std::filesystem::is_fifo(path, unknown))
        return error(errc::usage, path + ": not a file");
    try {
        table = toml::parse_file(path);
    } catch (const toml::parse_error& bad_toml) {
        return error(errc::usage, fmt::format("{}:{}: {}", path, bad_toml.source().begin.line, bad_toml.description()));
    }
    PeerConfig changed = config;
    EXA_TRY(apply_table(changed, table, "", path));
    config = std::move(changed);
    return success();
}

Result<void> complete_config(PeerConfig& config, const Environment& environment) {
    EXA_TRY(complete_advertise(config.advertise_gossip, config.listen_gossip, "gossip"));
    EXA_TRY(complete_advertise(config.advertise_link, config.listen_link, "link"));
    EXA_TRY(complete_advertise(config.advertise_http, config.listen_http, "http"));
    const std::string port = config.listen_http.substr(config.listen_http.rfind(':') + 1);
    if (config.name.empty()) {
        EXA_TRY(set_config(config, "name", environment.host_name + "-" + port));
    }
    if (config.data_dir.empty()) config.data_dir = fmt::format("{}/exaserve/{}", environment.state_home, port);
    if (config.model_path.empty())
        config.model_path = fmt::format("{}/exaserve/models/SmolLM2-135M-Instruct.Q4_1.gguf", environment.cache_home);
    if (config.model_name.empty() && config.engine == "null") config.model_name = "null";
    if (config.model_name.empty()) {
        std::string file = config.model_path.substr(config.model_path.rfind('/') + 1);
        if (file.ends_with(".gguf")) file.resize(file.size() - 5);
        // "SmolLM2-135M-Instruct.Q4_1": the part behind the last dot is the tensor type when it names one.
        const auto dot = file.rfind('.');
        if (dot != file.npos && dot > 0 && (file[dot + 1] == 'Q' || file[dot + 1] == 'F' || file[dot + 1] == 'B'))
            file.resize(dot);
        config.model_name = file;
    }
    if (config.context_tokens != 0 && config.context_tokens > config.kv_tokens)
        return error(errc::usage, fmt::format("model.context_tokens: {} is more than model.kv_tokens, {}",
                                              config.context_tokens, config.kv_tokens));
    return success();
}

}  // namespace exa::app
