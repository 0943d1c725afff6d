#include <array>

#include "app/attach/server.h"
#include "app/config/keys.h"
#include "app/config/setters.h"

namespace exa::app {

namespace {

Result<void> set_urls(PeerConfig& config, std::string_view text) {
    std::vector<std::string> urls;
    for (std::size_t at = 0; at <= text.size() && !text.empty();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        const std::string_view url = text.substr(at, comma - at);
        if (const auto server = AttachServer::parse(url); !server) return server.error();
        urls.emplace_back(url);
        at = comma + 1;
    }
    if (urls.size() > 64) return bad_value(fmt::format("{} URLs", urls.size()), "at most 64");
    config.attach_urls = std::move(urls);
    return success();
}

Result<void> set_path(PeerConfig& config, std::string_view text) {
    const bool plain = std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
    if (!text.starts_with('/') || text.size() > 255 || !plain) return bad_value(text, "a path such as /health");
    config.attach_health_path = text;
    return success();
}

constexpr std::array keys = {
    ConfigKey{"attach.urls", "URL,...",
              "Servers behind model.engine = attach, each as http://host:port and a replica of its own; they speak the "
              "OpenAI API under /v1 and serve model.name under that name. A replica is ready while its server answers. "
              "Default: none. Range: 1 to 64.",
              set_urls},
    ConfigKey{"attach.api_key_file", "FILE",
              "File with the key that these servers want as a bearer token, one line. Clients' own keys never reach "
              "them. Default: none.",
              set_text<&PeerConfig::attach_api_key_file>},
    ConfigKey{"attach.health_path", "PATH",
              "Path that a server answers with 2xx when it is well; where it has none (404) the list of models is "
              "enough. Asked every second. Default: /health.",
              set_path},
    ConfigKey{"attach.idle_ms", "MS",
              "Milliseconds after which an idle connection to a server is closed; it must be less than the server's "
              "own time, and is made so where the server tells it. Default: 4000. Range: 1 to 3600000.",
              set_number<&PeerConfig::attach_idle_ms, 1, 3'600'000>},
};

}  // namespace

std::span<const ConfigKey> attach_keys() {
    return keys;
}

}  // namespace exa::app
