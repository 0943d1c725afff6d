#include "app/config/config.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <sstream>

#include "app/config/keys.h"
#include "app/shared/errc.h"

namespace exa::app {

namespace {

// What a key's value is in TOML, by what stands behind its flag.
enum class LeafType : std::uint8_t { text, number, flag, list };

LeafType type_of(const ConfigKey& key) {
    constexpr std::array<std::string_view, 8> numbers = {"BYTES", "GB", "H", "MB", "MS", "N", "S", "US"};
    if (key.value == "BOOL") return LeafType::flag;
    if (key.value.ends_with(",...")) return LeafType::list;
    return std::ranges::find(numbers, key.value) != numbers.end() ? LeafType::number : LeafType::text;
}

std::string_view expected(LeafType type) {
    switch (type) {
        case LeafType::text:
            return "a string in quotes";
        case LeafType::number:
            return "a whole number without quotes";
        case LeafType::flag:
            return "true or false without quotes";
        case LeafType::list:
            return "a list of strings";
    }
    return "";
}

std::optional<std::string> joined(const toml::array& list) {
    std::string text;
    for (const toml::node& item : list) {
        if (!item.is_string()) return std::nullopt;
        text += (text.empty() ? "" : ",") + item.as_string()->get();
    }
    return text;
}

// The text of a TOML leaf, as the key's setter reads it; nothing when it is of another type.
std::optional<std::string> leaf_text(const toml::node& node, LeafType type) {
    const auto* const text = node.as_string();
    const auto* const list = node.as_array();
    switch (type) {
        case LeafType::text:
            return text != nullptr ? std::optional(text->get()) : std::nullopt;
        case LeafType::number:
            return node.is_integer() ? std::optional(std::to_string(node.as_integer()->get())) : std::nullopt;
        case LeafType::flag:
            if (!node.is_boolean()) return std::nullopt;
            return node.as_boolean()->get() ? "true" : "false";
        case LeafType::list:
            // One that has a single member may be written without brackets, or as on the command line.
            if (text != nullptr) return text->get();
            return list != nullptr ? joined(*list) : std::nullopt;
    }
    return std::nullopt;
}

// As it stands in the file, shortened.
std::string shown(const toml::node& node) {
    std::ostringstream out;
    node.visit([&out](const auto& value) { out << value; });
    const std::string text = out.str();
    return text.size() > 40 ? text.substr(0, 40) + "..." : text;
}

Result<void> apply_leaf(PeerConfig& config, const std::string& name, const toml::node& node) {
    const auto key = std::ranges::find(config_keys(), name, &ConfigKey::name);
    if (key == config_keys().end()) return error(errc::usage, fmt::format("unknown key '{}'", name));
    const auto text = leaf_text(node, type_of(*key));
    if (!text) return error(errc::usage, fmt::format("{}: {} is not {}", name, shown(node), expected(type_of(*key))));
    return set_config(config, name, *text);
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
        if (auto done = apply_leaf(config, name, node); !done) return error(errc::usage, place + done.error().detail);
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
    static const std::vector<ConfigKey> all = [] {
        std::vector<ConfigKey> keys;
        for (const auto topic :
             {peer_keys(), security_keys(), net_keys(), engine_keys(), kv_keys(), attach_keys(), http_keys()})
            keys.insert(keys.end(), topic.begin(), topic.end());
        return keys;
    }();
    return all;
}

Result<void> set_config(PeerConfig& config, std::string_view name, std::string_view text) {
    const auto keys = config_keys();
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
    if (config.kv_directory.empty()) config.kv_directory = config.data_dir + "/kv";
    if (!config.kv_enabled)
        config.kv_enabled = (config.engine == "builtin" && config.replicas > 0) || !config.kv_resp_listen.empty();
    if (config.model_path.empty())
        config.model_path = fmt::format("{}/exaserve/models/SmolLM2-135M-Instruct.Q4_1.gguf", environment.cache_home);
    if (config.model_name.empty() && config.engine == "null") config.model_name = "null";
    if (config.engine == "attach") {
        if (config.attach_urls.empty()) return error(errc::usage, "attach.urls is needed with model.engine = attach");
        if (config.model_name.empty())
            return error(errc::usage, "model.name is needed with model.engine = attach: the servers' own name for it");
        config.replicas = static_cast<std::uint32_t>(config.attach_urls.size());
    }
    if (config.model_name.empty()) {
        std::string file = config.model_path.substr(config.model_path.rfind('/') + 1);
        if (file.ends_with(".gguf")) file.resize(file.size() - 5);
        // "SmolLM2-135M-Instruct.Q4_1": the part behind the last dot is the tensor type when it names one.
        const auto dot = file.rfind('.');
        if (dot != file.npos && dot > 0 && (file[dot + 1] == 'Q' || file[dot + 1] == 'F' || file[dot + 1] == 'B'))
            file.resize(dot);
        config.model_name = file;
    }
    if (config.http_certificate_file.empty() != config.http_key_file.empty())
        return error(errc::usage, "http.certificate_file and http.key_file are needed together");
    if (!config.kv_resp_listen.empty() && !*config.kv_enabled)
        return error(errc::usage, "kv.resp_listen: values go where KV is kept, and kv.enabled is false");
    if (!config.kv_cold_directory.empty() && (!*config.kv_enabled || config.kv_capacity_gb == 0))
        return error(
            errc::usage,
            "kv.cold_directory: what ages on disk goes there; kv.enabled and kv.capacity_gb must say that there "
            "is something");
    if (config.context_tokens != 0 && config.context_tokens > config.kv_tokens)
        return error(errc::usage, fmt::format("model.context_tokens: {} is more than model.kv_tokens, {}",
                                              config.context_tokens, config.kv_tokens));
    return success();
}

}  // namespace exa::app
